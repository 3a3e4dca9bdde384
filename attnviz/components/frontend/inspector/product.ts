// One cell of a panel: its name, its value and, if it is part of a matrix product, the terms of its sum.

import { known, sumOf } from "../core/arithmetic.ts";
import { equals, inlineProducts, line } from "./chain.ts";
import { cellName, index, number, operand, quantity } from "../core/format.ts";
import { result, span } from "../core/template.ts";
import { Folded, termLines } from "./lists.ts";
import { CURRENT, Operation, runningMean } from "./operation.ts";
import type { Child } from "../core/template.ts";
import type { Worked } from "./operation.ts";

export type LabelOf = (kind: string, i: number) => string;

const OWN_COLOURS: Record<string, string> = {
  ...{ query: "query", key: "key", value: "value" },
  ...{ weights: "attention", triangle: "attention", softmax_weights: "attention" },
};
const CLOSE = 1e-4; // relative: the cells are float32, the sums here are double

export function colourOf(name: string) {
  const owner = Object.keys(OWN_COLOURS).find((own) =>
    [own, `W_${own}`, `U_${own}`, `${own}_t`, `normed_${own}`, `rotated_${own}`].includes(name),
  );
  return owner ? OWN_COLOURS[owner] : "plain";
}

export class Product {
  terms: Folded = new Folded("product");
  sums: Folded = new Folded("mean");
  operation = new Operation();

  /** What is written of `at`, a cell of `panel`; `labels(kind, i)` names an index. */
  lines({
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
  }): Child[] {
    const value = panel.z[at.i][at.j];
    const factors = operands(panel, panels, products);
    const x = panel.name === "by_loop" ? panels.find((one) => one.name === "embeddings_k") : undefined;
    const worked = [
      factors && this.multiplied(factors, at, labels),
      x && runningMean(x.z, at, (row) => labels(x.rows, row), this.sums),
      this.operation.worked({ at, panels, made: products[panel.name] }),
    ].filter((one) => Boolean(one)) as Worked[];
    const computed = worked.at(-1)?.value ?? NaN;
    const isSame = Math.abs(computed - value) <= CLOSE * Math.max(1, Math.abs(value));
    const own = [span(colourOf(panel.name), cellName(panel, at.i, at.j)), " ", valueOf(value)];
    return [
      ...worked.flatMap(({ lines }) => lines),
      // The cell's number is repeated only if there is nothing else, or if it differs from the computed sum.
      !isSame && line("cell", { class: "cell" }, { title: null, formula: own }),
    ];
  }

  multiplied({ left, right, bias }: Operands, { i, j }: Cell, labels: LabelOf): Worked {
    const colours = [colourOf(left.name), colourOf(right.name)];
    const a = (c: number) => known(left.z[i][c]);
    const b = (c: number) => right.z[c][j];
    const count = left.z[i].length;
    const sum = sumOf(Array.from({ length: count }, (_, c) => a(c) * b(c)));
    const added = bias ? bias[j] : null;
    const value = sum + (added ?? 0);
    const factors = [
      span(`nowrap ${colours[0]}`, `${quantity(left.name)}[${index(left.rows, i)}, ·]`),
      " · ",
      span(`nowrap ${colours[1]}`, `${quantity(right.name)}[·, ${index(right.cols, j)}]`),
    ];
    const plus = added === null ? [] : [" + ", operand(added, 4), span("why-inline", " (bias)")];
    const products = inlineProducts(count, a, b, colours);
    const summary = count === 1 ? "the one product" : `all ${count} products`;
    const terms = { count, left: a, right: b, label: (c: number) => labels(left.cols, c), sum, summary, colours };
    const formula = [...factors, " = ", ...products, ...plus, " ", equals(value)];
    const below = this.terms.show(summary, () => termLines(terms));
    return { lines: [line("product", CURRENT, { title: null, formula, below })], value };
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
