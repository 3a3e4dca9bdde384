// One average of the loop: the running sum of a column of X over the past, then the division.

import { equals } from "./chain.ts";
import { runningSums, sumOf } from "../core/arithmetic.ts";
import { element, span } from "../core/dom.ts";
import { number, operand } from "../core/format.ts";

const INLINE = 3; // as many as fit a line or two of a narrow column

export class RunningMean {
  formula: HTMLDivElement;
  summary: HTMLElement;
  body: HTMLDivElement;
  total: HTMLDivElement;
  sums: HTMLDetailsElement;
  root: HTMLDivElement;
  write;

  constructor() {
    this.formula = element("div", { class: "formula" });
    this.summary = element("summary");
    this.body = element("div", { class: "terms", tabIndex: 0, role: "group" });
    this.total = element("div", { class: "terms-total" });
    this.sums = element("details", { dataset: { terms: "mean" } }, this.summary, this.body, this.total);
    this.root = element("div", { class: "line current", dataset: { line: "mean" } }, this.formula, this.sums);
    this.write = () => {};
    // A closed list costs nothing while the pointer moves: it is written when it is opened.
    this.sums.addEventListener("toggle", () => this.sums.open && this.write());
  }

  /** Shows the mean of column j over the rows 0 to i of X; returns it. */
  show(x: Rows, i: number, j: number, label: (row: number) => string) {
    const count = i + 1;
    const column = Array.from({ length: count }, (_, row) => x[row][j]);
    const sum = sumOf(column);
    const first = column.slice(0, INLINE).flatMap((one, n) => [n ? " + " : "", span("nowrap", operand(one))]);
    const rest = count > INLINE ? [" + …"] : [];
    this.formula.replaceChildren(
      "(",
      ...first,
      ...rest,
      `) / ${count} = `,
      `${number(sum)} / ${count} `,
      equals(sum / count),
    );
    this.summary.textContent = count === 1 ? "the one number" : `all ${count} running sums`;
    this.body.setAttribute("aria-label", this.summary.textContent);
    this.write = () => this.list(column, label);
    if (this.sums.open) this.write();
    return sum / count;
  }

  list(column: number[], label: (row: number) => string) {
    const sums = runningSums(column);
    const lines = column.map((one, row) => {
      const [before, sum] = sums.slice(row, row + 2);
      const after = element("b", { title: String(sum), dataset: { running: String(sum) } }, number(sum));
      const added = row ? [`${number(before)} + ${operand(one, 4)} = `, after] : [after];
      return element("div", { class: "term" }, span("term-label", label(row)), span("term-sum", ...added));
    });
    this.body.replaceChildren(...lines);
    this.total.replaceChildren(
      `divided by ${column.length}: `,
      element("b", {}, number(sumOf(column) / column.length)),
    );
  }
}
