// A page with a comparison of its own.

import Compare from "../compare/compare.js";
import { show } from "./component.js";

show(Compare);
