// The largest weights of a pinned row, shown while no cell of it is pinned.

import { element, result } from "../core/dom.js";
import { strongestOf } from "../heads/values.js";
import { number } from "../core/format.js";

const MOST = 3;

/** What a row adds up to. @param {Float64Array} row */
export const sumOf = (row) => row.reduce((sum, x) => sum + x, 0);

export class RowSummary {
  constructor() {
    this.root = element("ul", { class: "looks-at", "aria-label": "Where the row looks" });
  }

  /**
   * Shows the largest of `weights`, a row of numbers; `token(k)` names a key.
   * @param {Float64Array} weights @param {(k: number) => Node} token
   */
  show(weights, token) {
    const found = strongestOf(weights, MOST).filter(([, weight]) => weight > 0);
    const lines = found.map(([k, weight]) =>
      element("li", { dataset: { key: k } }, token(k), result(weight, number(weight))),
    );
    const whole = sumOf(weights);
    const sum = element("li", { class: "row-sum" }, `Σ of all ${weights.length}`, result(whole, number(whole)));
    const head = element("li", { class: "why" }, "looks most at");
    this.root.replaceChildren(...(found.length ? [head, ...lines, sum] : []));
  }
}
