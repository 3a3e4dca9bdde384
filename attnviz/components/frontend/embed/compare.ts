// A page with a comparison of its own.

import Compare from "../compare/compare.ts";
import { show } from "./component.ts";

show(Compare);
