// A button that lights where a way's averages are farthest from the loop's, for as long as it is pointed at.

import { element } from "../core/dom.js";

/** @typedef {import("../walk/matrices.js").HeadMatrices} HeadMatrices */

export class LargestGap {
  /** @param {HTMLElement} above @param {import("./inspector.js").Inspector} inspector follows the cell */
  constructor(above, inspector) {
    /** @type {Cell | null} */
    this.at = null;
    this.root = element("button", { type: "button", class: "largest-gap", hidden: true }, "Show where it is largest");
    for (const name of ["pointerenter", "focus"]) this.root.addEventListener(name, () => inspector.point(this.at));
    for (const name of ["pointerleave", "blur"]) this.root.addEventListener(name, () => inspector.point(null));
    this.root.addEventListener("click", () => this.at && inspector.click(this.at));
    above.after(this.root);
  }

  /** @param {HeadMatrices | null} matrices @param {PictureSpec | null} picture of the step that is shown */
  show(matrices, picture) {
    const result = picture?.panels.find(({ name }) => ["by_matrix", "by_softmax", "by_data"].includes(name));
    this.at = matrices && result ? farthest(matrices, result) : null;
    this.root.hidden = this.at === null;
  }
}

/** @typedef {import("../core/document.js").PictureSpec} PictureSpec */

/**
 * The cell with the largest difference to the loop; null where there is none.
 * @param {HeadMatrices} matrices @param {import("../core/document.js").PanelSpec} result @returns {Cell | null}
 */
function farthest(matrices, { name, rows, cols }) {
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
