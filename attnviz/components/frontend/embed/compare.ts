// A page with a comparison of its own.

import Compare from "../compare/compare.ts";
import { show } from "./component.ts";
import { root } from "./page.ts";

show((host) => new Compare(root, host));
