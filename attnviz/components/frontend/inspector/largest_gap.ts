// A button that lights where a way's averages are farthest from the loop's, for as long as it is pointed at.

import { element } from "../core/dom.ts";
import type { Inspector } from "./inspector.ts";
import type { PanelSpec, PictureSpec } from "../core/document.ts";
import type { HeadMatrices } from "../walk/matrices.ts";

export class LargestGap {
  at: Cell | null = null;
  root = element("button", { type: "button", class: "largest-gap", hidden: true }, "Show where it is largest");

  /** @param inspector follows the cell */
  constructor(above: HTMLElement, inspector: Inspector) {
    for (const name of ["pointerenter", "focus"]) this.root.addEventListener(name, () => inspector.point(this.at));
    for (const name of ["pointerleave", "blur"]) this.root.addEventListener(name, () => inspector.point(null));
    this.root.addEventListener("click", () => this.at && inspector.click(this.at));
    above.after(this.root);
  }

  /** @param picture of the step that is shown */
  show(matrices: HeadMatrices | null, picture: PictureSpec | null) {
    const result = picture?.panels.find(({ name }) => ["by_matrix", "by_softmax", "by_data"].includes(name));
    this.at = matrices && result ? farthest(matrices, result) : null;
    this.root.hidden = this.at === null;
  }
}

/** The cell with the largest difference to the loop; null where there is none. */
function farthest(matrices: HeadMatrices, { name, rows, cols }: PanelSpec): Cell | null {
  const [found, loop] = [matrices.get(name), matrices.get("by_loop")];
  if (!found || !loop) return null;
  let [at, largest] = [-1, 0];
  for (let n = 0; n < found.data.length; n += 1) {
    const gap = Math.abs(found.data[n] - loop.data[n]);
    if (gap > largest) [at, largest] = [n, gap];
  }
  const [, width] = found.shape;
  return at < 0 ? null : { panel: name, rows, cols, i: Math.floor(at / width), j: at % width };
}
