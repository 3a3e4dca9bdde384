// A page with a training of its own: all its snapshots are in it, each in a file.

import Training from "../training/training.ts";
import { show } from "./component.ts";
import { root } from "./page.ts";

show((host) => new Training(root, host, 1));
