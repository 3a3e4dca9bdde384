// One cell of a panel: its name, its value and, if it is part of a matrix product, the terms of its sum.

import { known, sumOf } from "../core/arithmetic.ts";
import { equals, inlineProducts } from "./chain.ts";
import { element, result, span } from "../core/dom.ts";
import { cellName, index, number, operand, quantity } from "../core/format.ts";
import { RunningMean } from "./mean.ts";
import { Operation } from "./operation.ts";
import { TermList } from "./terms.ts";

export type LabelOf = (kind: string, i: number) => string;

const OWN_COLOURS: Record<string, string> = {
  ...{ query: "query", key: "key", value: "value" },
  ...{ weights: "attention", triangle: "attention", softmax_weights: "attention" },
};
const CLOSE = 1e-4; // relative: the cells are float32, the sums here are double

export function colourOf(name: string) {
  const owner = Object.keys(OWN_COLOURS).find((own) => [own, `W_${own}`, `U_${own}`, `${own}_t`].includes(name));
  return owner ? OWN_COLOURS[owner] : "plain";
}

export class Product {
  formula: HTMLDivElement;
  terms: TermList;
  own: HTMLDivElement;
  computed: number;
  cell: HTMLDivElement;
  line: HTMLDivElement;
  mean: RunningMean;
  operation: Operation;
  root: HTMLDivElement;

  constructor() {
    this.formula = element("div", { class: "formula" });
    this.terms = new TermList("product", "plain", "plain");
    this.own = element("div", { class: "formula" });
    this.computed = NaN;
    this.cell = element("div", { class: "cell", dataset: { line: "cell" } }, this.own);
    this.line = element("div", { class: "line current", dataset: { line: "product" } }, this.formula, this.terms.root);
    this.mean = new RunningMean();
    this.operation = new Operation();
    this.root = element("div", { class: "chain" }, this.line, this.mean.root, this.operation.root, this.cell);
  }

  /** Shows `at`, a cell of `panel`; `labels(kind, i)` names an index. */
  show({
    at,
    panel,
    panels,
    products,
    labels,
  }: {
    at: Cell;
    panel: DrawnPanel;
    panels: DrawnPanel[];
    products: Products;
    labels: LabelOf;
  }) {
    const value = panel.z[at.i][at.j];
    const name = cellName(panel, at.i, at.j);
    const product = operands(panel, panels, products);
    this.line.hidden = !product;
    if (product) this.write(product, at, labels);
    const summed = panel.name === "by_loop" ? panels.find((one) => one.name === "embeddings_k") : undefined;
    this.mean.root.hidden = !summed;
    if (summed) this.computed = this.mean.show(summed.z, at.i, at.j, (row) => labels(summed.rows, row));
    const isMade = this.operation.show({ at, panels, made: products[panel.name] });
    if (isMade) this.computed = this.operation.computed;
    const same =
      (product || summed || isMade) && Math.abs(this.computed - value) <= CLOSE * Math.max(1, Math.abs(value));
    // The cell's number is repeated only if there is nothing else, or if it differs from the computed sum.
    this.cell.hidden = Boolean(same);
    this.own.replaceChildren(span(colourOf(panel.name), name), " ", valueOf(value));
  }

  write({ left, right, bias }: Operands, { i, j }: Cell, labels: LabelOf) {
    const colours = [colourOf(left.name), colourOf(right.name)];
    const a = (c: number) => known(left.z[i][c]);
    const b = (c: number) => right.z[c][j];
    const terms = left.z[i].length;
    const sum = sumOf(Array.from({ length: terms }, (_, c) => a(c) * b(c)));
    const added = bias ? bias[j] : null;
    this.computed = sum + (added ?? 0);
    const factors = [
      span(`nowrap ${colours[0]}`, `${quantity(left.name)}[${index(left.rows, i)}, ·]`),
      " · ",
      span(`nowrap ${colours[1]}`, `${quantity(right.name)}[·, ${index(right.cols, j)}]`),
    ];
    const plus = added === null ? [] : [" + ", operand(added, 4), span("why-inline", " (bias)")];
    const products = inlineProducts(terms, a, b, colours);
    this.formula.replaceChildren(...factors, " = ", ...products, ...plus, " ", equals(this.computed));
    this.terms.set({
      count: terms,
      left: a,
      right: b,
      label: (c) => labels(left.cols, c),
      sum,
      summary: terms === 1 ? "the one product" : `all ${terms} products`,
      colours,
    });
  }
}

/** The two panels that a panel is the product of, if both are drawn and fit. */
export function operands(panel: DrawnPanel, panels: DrawnPanel[], products: Products): Operands | null {
  const entry = products[panel.name];
  if (!entry || !("left" in entry) || panel.name === "scores") return null;
  const left = panels.find(({ name }) => name === entry.left);
  const right = panels.find(({ name }) => name === entry.right);
  if (!left || !right || left.width !== right.height) return null;
  return left.height === panel.height && right.width === panel.width ? { left, right, bias: entry.bias } : null;
}

function valueOf(value: number) {
  if (!Number.isNaN(value)) return equals(value);
  return span("nowrap", "= ", result(-Infinity, number(-Infinity)), " (masked)");
}
