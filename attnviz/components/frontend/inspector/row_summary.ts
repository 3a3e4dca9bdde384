// The largest weights of a pinned row, shown while no cell of it is pinned.

import { sumOf } from "../core/arithmetic.ts";
import { element, result } from "../core/dom.ts";
import { strongestOf } from "../heads/values.ts";
import { number, weightText } from "../core/format.ts";

const MOST = 3;

export class RowSummary {
  root: HTMLUListElement;

  constructor() {
    this.root = element("ul", { class: "looks-at", "aria-label": "Where the row looks" });
  }

  /** Shows the largest of `weights`, a row of numbers; `token(k)` names a key. */
  show(weights: Float64Array, token: (k: number) => Node) {
    const found = strongestOf(weights, MOST).filter(([, weight]) => weight > 0);
    const lines = found.map(([k, weight]) =>
      element("li", { dataset: { key: k } }, token(k), result(weight, weightText(weight))),
    );
    const whole = sumOf(weights);
    const sum = element("li", { class: "row-sum" }, `Σ of all ${weights.length}`, result(whole, number(whole)));
    const head = element("li", { class: "why" }, "looks most at");
    this.root.replaceChildren(...(found.length ? [head, ...lines, sum] : []));
  }
}
