// The chain of one (query, key) cell: scores, scaled, masked, weights, head outputs, each written out.

import { element, result, span } from "../core/dom.ts";
import { number, operand, subscript } from "../core/format.ts";
import { sumOf } from "../core/arithmetic.ts";
import { TermList } from "./terms.ts";
import { VectorTable } from "./vectors.ts";
import { averagedOf, linesOf, marksOf } from "./ways.ts";
import type { Attention, Softmax } from "../core/attention.ts";

export type CellSteps = ReturnType<Attention["cell"]>;

const LINES = ["scores", "scaled", "masked", "weights", "head_outputs"];
const INLINE = { products: 3, numbers: 2 }; // as many as fit a line or two of a narrow column

export class Chain {
  products: TermList;
  vectors: VectorTable;
  lines: Record<string, ReturnType<typeof makeLine>>;
  root: HTMLDivElement;

  constructor() {
    this.products = new TermList("scores", "query", "key");
    this.vectors = new VectorTable();
    this.lines = Object.fromEntries(LINES.map((name) => [name, makeLine(name)]));
    this.lines.scores.root.append(this.products.root);
    this.lines.head_outputs.root.append(this.vectors.root);
    this.root = element("div", { class: "chain" }, ...LINES.map((name) => this.lines[name].root));
  }

  /**
   * Marks the line of the step that the page is at, and dims those that are still to come.
   * @param steps the names of all, in order
   */
  markStep(header: AttentionHeader, step: string, steps: string[]) {
    const { current, later } = marksOf(header, step, steps);
    for (const [name, { root }] of Object.entries(this.lines)) {
      root.classList.toggle("current", name === current);
      root.classList.toggle("later", later.includes(name));
      if (name === current) root.setAttribute("aria-current", "step");
      else root.removeAttribute("aria-current");
    }
  }

  show(attention: Attention, q: number, k: number) {
    const cell = attention.cell(q, k);
    const { header } = attention;
    const lines = linesOf(header);
    for (const name of LINES) this.lines[name].root.hidden = !lines.includes(name);
    this.lines.head_outputs.title.textContent = header.way ? "average" : "head outputs";
    const names = { q: span("query", `q${subscript(q)}`), k: span("key", `k${subscript(k)}`) };
    this.write("scores", ...this.scores(attention, q, k, cell, names));
    this.write("scaled", ...scaled(header, cell));
    this.write("masked", ...masked(header, q, k, cell));
    this.write("weights", ...(header.way === "matrix" ? shares(q, k, cell) : weights(cell)));
    this.write("head_outputs", ...this.outputs(attention, q, k, cell));
  }

  write(name: string, ...parts: (Node | string)[]) {
    this.lines[name].formula.replaceChildren(...parts);
  }

  scores(attention: Attention, q: number, k: number, { score }: CellSteps, names: { q: Node; k: Node }) {
    const { size, operands } = attention;
    this.products.root.hidden = !operands;
    if (!operands) {
      return [result(score, number(score)), how(" ", span("why-inline", "every score is 0"))];
    }
    const left = (d: number) => operands.query[q * size + d];
    const right = (d: number) => operands.key[k * size + d];
    this.products.set({
      count: size,
      left,
      right,
      label: String,
      sum: score,
      summary: size === 1 ? "the one product" : `all ${size} products`,
    });
    const sum = inlineProducts(size, left, right, ["query", "key"]);
    return [how(names.q, " · ", names.k, " = ", ...sum, " "), equals(score)];
  }

  outputs(attention: Attention, q: number, k: number, { weight }: CellSteps) {
    const { valueSize, value, header } = attention;
    const row = attention.output(q);
    const [letter, colour] = averagedOf(header);
    const own = (d: number) => value[k * valueSize + d];
    this.vectors.set({ count: valueSize, weight, own, row: (d) => row[d], q, k, letter });
    const whole = vector(valueSize, (d) => row[d], "b");
    if (header.way === "loop") return loop(q, k, whole);
    const share = [span("attention", number(weight)), " × ", span(colour, `${letter}${subscript(k)}`), " = "];
    return [
      how(
        ...share,
        vector(valueSize, (d) => weight * own(d)),
        element("br"),
      ),
      "Σⱼ ",
      span("attention", "wⱼ"),
      "·",
      span(colour, `${letter}ⱼ`),
      " = ",
      whole,
    ];
  }
}

/** `0.42·1.30 + (−0.20)·0.77 + 0.11·0.90 + …`: the first products, each kept on one line. */
export function inlineProducts(
  count: number,
  left: (c: number) => number,
  right: (c: number) => number,
  [leftColour, rightColour]: string[],
) {
  const parts: (Node | string)[] = [];
  for (let c = 0; c < Math.min(count, INLINE.products); c += 1) {
    if (c > 0) parts.push(" + ");
    parts.push(span("nowrap", span(leftColour, operand(left(c))), "·", span(rightColour, operand(right(c)))));
  }
  if (count > INLINE.products) parts.push(" + …");
  return parts;
}

/** `= 3.2100`, the number bold and readable by tests and by a hover title in full. */
export function equals(x: number) {
  return span("nowrap", "= ", result(x, number(x), { title: String(x) }));
}

/** How a number comes about: left out where only what it is counts. */
export const how = (...parts: (Node | string)[]) => span("how", ...parts);

function scaled({ scale, scale_label: label }: AttentionHeader, cell: CellSteps) {
  if (label === "off") return [how(number(cell.score), " × 1 "), equals(cell.scaled), span("why", "scaling is off")];
  const factor = number(scale);
  const product = `${number(cell.score)} × ${factor}`;
  if (label === factor || label === String(scale)) return [how(product, " "), equals(cell.scaled)];
  return [how(`${number(cell.score)} × ${label} `, span("nowrap", "= ", product), " "), equals(cell.scaled)];
}

function masked(
  { mask, mask_value: value, mask_fills: fills, scale }: AttentionHeader,
  q: number,
  k: number,
  { score, scaled: x, bias, masked: y }: CellSteps,
) {
  if (bias === -Infinity) {
    const puts = value === null ? "adds −∞" : `fills in ${exact(value)}`;
    const why = {
      none: "",
      causal: `hidden: key ${k} comes after query ${q}`,
      window: `hidden: key ${k} is outside the window of query ${q}`,
      array: `hidden: the mask ${puts} here`,
    }[mask];
    if (value !== null && fills === "scores") {
      const product = span("nowrap", `${exact(value)} × ${number(scale)}`);
      return [how(`${number(score)} → `, product, " "), equals(y), span("why", `${why}, before the scaling`)];
    }
    return [how(number(x), " → "), result(y, value === null ? number(y) : exact(y)), span("why", why)];
  }
  if (bias !== 0) {
    return [how(number(x), " + ", operand(bias, 4), " "), equals(y), span("why", "the mask adds a number here")];
  }
  const why = {
    none: "kept: nothing is masked",
    causal: `kept: key ${k} is not after query ${q}`,
    window: `kept: key ${k} is in the window of query ${q}`,
    array: "kept: the mask adds 0 here",
  }[mask];
  return [result(y, number(y), { title: String(y) }), how(" ", span("why-inline", why))];
}

/** A number that a mask fills in: −1e10. */
const exact = (x: number) => x.toExponential().replace("-", "−").replace("e+", "e");

export function weights({
  masked: x,
  exponential,
  sum,
  shift,
  weight,
  weights: row,
  allHidden,
}: Pick<CellSteps, "masked" | "exponential" | "weight"> & Softmax) {
  if (allHidden) {
    return [equals(weight), span("why", "every key is hidden from this row, so all its weights are 0")];
  }
  const exponent = shift === 0 ? number(x) : `(${number(x)} − ${operand(shift, 4)})`;
  const parts = how(
    span("nowrap", "e", element("sup", {}, exponent), " / Σⱼ ", "e", element("sup", {}, "…")),
    " ",
    span("nowrap", "= ", number(exponential), " / ", number(sum)),
    " ",
  );
  const why = `the row's largest, ${number(shift)}, is subtracted first: e to the power of it is out of range`;
  const whole = how(" ", span("why-inline row-sum", `· the row: Σⱼ = ${number(sumOf(row))}`));
  return [parts, equals(weight), whole, ...(shift === 0 ? [] : [how(span("why", why))])];
}

/** Row q of the triangle A: 1 / (q + 1) up to the diagonal. */
function shares(q: number, k: number, { weight }: CellSteps) {
  if (k > q) return [result(0, number(0)), span("why", `key ${k} comes after row ${q}: the upper triangle is 0`)];
  const rows = q ? `${q + 1} tokens` : "1 token";
  return [how(`1 / ${q + 1} `), equals(weight), span("why", `row ${q} shares 1 among the ${rows} up to its own`)];
}

/** The mean of the rows 0 to q. */
function loop(q: number, k: number, mean: Node) {
  const count = q + 1;
  const [first, last] = [0, q].map((j) => `x${subscript(j)}`);
  const sum = q > 1 ? [first, " + … + ", last] : q ? [first, " + ", last] : [first];
  const why =
    k > q ? `x${subscript(k)} comes after row ${q}: it is not added` : `x${subscript(k)} is one of the ${count}`;
  return [how("(", ...sum, `) / ${count} = `), mean, span("why", why)];
}

function vector(count: number, at: (d: number) => number, tag: "span" | "b" = "span") {
  const shown = Math.min(count, INLINE.numbers);
  const numbers = Array.from({ length: shown }, (_, d) => number(at(d), 3));
  return element(tag, { class: "nowrap" }, `[${numbers.join(", ")}${count > shown ? ", …" : ""}]`);
}

/** A line of arithmetic, with its name above it. */
export function makeLine(name: string) {
  const formula = element("div", { class: "formula" });
  const title = element("div", { class: "line-name" }, name.replaceAll("_", " "));
  return { title, formula, root: element("div", { class: "line", dataset: { line: name } }, title, formula) };
}
