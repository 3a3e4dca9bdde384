// The chain of one (query, key) cell: scores, scaled, masked, weights, head outputs, each written out.

import { sumOf } from "../core/arithmetic.ts";
import { number, operand, percent, subscript } from "../core/format.ts";
import { reasonOf } from "../core/mask_reasons.ts";
import { result, span, template } from "../core/template.ts";
import { Folded, termLines, vectorTable } from "./lists.ts";
import { averagedOf, linesOf, marksOf } from "./ways.ts";
import type { Attention, Softmax } from "../core/attention.ts";
import type { Child } from "../core/template.ts";
import type { HeadMatrices } from "../walk/matrices.ts";
import type { Inspected } from "./inspector.ts";

type InspectedCell = Pick<Inspected, "attention" | "step" | "steps"> & Partial<Pick<Inspected, "matrices">>;
export type CellSteps = ReturnType<Attention["cell"]>;

const INLINE = { products: 3, numbers: 2 }; // as many as fit a line or two of a narrow column

export class Chain {
  products: Folded = new Folded("scores");
  vectors: Folded = new Folded("head_outputs");

  /**
   * The lines of a cell. That of the page's step is marked, and those that are still to come are dimmed.
   * @param isCovered whether other cells of the row are covered: nothing is said of the whole row
   */
  lines({ attention, step, steps, matrices }: InspectedCell, q: number, k: number, isCovered = false): Child[] {
    const { header } = attention;
    const cell = attention.cell(q, k);
    const { current, later } = marksOf(header, step, steps);
    const written: Record<string, () => Line> = {
      scores: () => this.scores(attention, q, k, cell),
      scaled: () => ({ formula: scaled(header, cell) }),
      capped: () => ({ formula: capped(header, cell) }),
      biased: () => ({ formula: biased(cell, termsAt(matrices, q * attention.keys + k)) }),
      masked: () => ({ formula: masked(header, q, k, cell) }),
      weights: () => ({ formula: header.way === "matrix" ? shares(q, k, cell) : weights(cell, isCovered) }),
      head_outputs: () => this.outputs(attention, q, k, cell),
    };
    return linesOf(header).map((name) => {
      const look = `line${name === current ? " current" : ""}${later.includes(name) ? " later" : ""}`;
      return line(name, { class: look, "aria-current": name === current ? "step" : undefined }, written[name]());
    });
  }

  scores({ size, operands }: Attention, q: number, k: number, { score }: CellSteps): Line {
    if (!operands) return { formula: [result(score, number(score)), how(" ", span("why-inline", "every score is 0"))] };
    const left = (d: number) => operands.query[q * size + d];
    const right = (d: number) => operands.key[k * size + d];
    const colours = ["query", "key"];
    const summary = size === 1 ? "the one product" : `all ${size} products`;
    const terms = { count: size, left, right, label: String, sum: score, summary, colours };
    const names = [span("query", `q${subscript(q)}`), " · ", span("key", `k${subscript(k)}`)];
    return {
      formula: [how(...names, " = ", ...inlineProducts(size, left, right, colours), " "), equals(score)],
      below: this.products.show(summary, () => termLines(terms)),
    };
  }

  outputs(attention: Attention, q: number, k: number, { weight }: CellSteps): Line {
    const { valueSize: count, value, header } = attention;
    const output = attention.output(q);
    const [letter, colour] = averagedOf(header);
    const own = (d: number) => value[k * count + d];
    const row = (d: number) => output[d];
    const summary = count === 1 ? "the one number" : `all ${count} numbers`;
    const below = this.vectors.show(summary, () => vectorTable({ count, weight, own, row, q, k, letter }));
    const title = header.way ? "average" : "head outputs";
    const whole = vector(count, row, "b");
    if (header.way === "loop") return { title, formula: loop(q, k, whole), below };
    const share = [span("attention", number(weight)), " × ", span(colour, `${letter}${subscript(k)}`), " = "];
    const weighted = how(
      ...share,
      vector(count, (d) => weight * own(d)),
      template("br"),
    );
    const sum = ["Σⱼ ", span("attention", "wⱼ"), "·", span(colour, `${letter}ⱼ`), " = "];
    return { title, formula: [weighted, ...sum, whole], below };
  }
}

/** `0.42·1.30 + (−0.20)·0.77 + 0.11·0.90 + …`: the first products, each kept on one line. */
export function inlineProducts(
  count: number,
  left: (c: number) => number,
  right: (c: number) => number,
  [leftColour, rightColour]: string[],
) {
  const parts: Child[] = [];
  for (let c = 0; c < Math.min(count, INLINE.products); c += 1) {
    if (c > 0) parts.push(" + ");
    parts.push(span("nowrap", span(leftColour, operand(left(c))), "·", span(rightColour, operand(right(c)))));
  }
  if (count > INLINE.products) parts.push(" + …");
  return parts;
}

/** `= 3.2100`, the number bold and readable by tests and by a hover title in full. */
export function equals(x: number) {
  return span("nowrap", "= ", result(x, number(x), "result", String(x)));
}

/** How a number comes about: left out where only what it is counts. */
export const how = (...parts: Child[]) => span("how", ...parts);

function scaled({ scale, scale_label: label }: AttentionHeader, cell: CellSteps) {
  if (label === "off") return [how(number(cell.score), " × 1 "), equals(cell.scaled), span("why", "scaling is off")];
  const factor = number(scale);
  const product = `${number(cell.score)} × ${factor}`;
  if (label === factor || label === String(scale)) return [how(product, " "), equals(cell.scaled)];
  return [how(`${number(cell.score)} × ${label} `, span("nowrap", "= ", product), " "), equals(cell.scaled)];
}

function capped({ cap = 1 }: AttentionHeader, { scaled: x, capped: y }: CellSteps) {
  const product = span("nowrap", `${number(cap)} × tanh(${number(x)} / ${number(cap)})`);
  return [how("c × tanh(scaled / c) = ", product, " "), equals(y)];
}

function biased({ capped: x, biased: y }: CellSteps, terms: number[]): Child[] {
  if (Number.isNaN(y)) return [span("why", "outside of the window: no bias is shown")];
  const added = terms.length ? terms : [y - x];
  return [how(number(x), ...added.flatMap((term) => [" + ", operand(term, 4)]), " "), equals(y)];
}

/** The terms of a position bias in a cell, if it has some, and they are here. */
const termsAt = (matrices: HeadMatrices | undefined, cell: number) =>
  ["content_to_position", "position_to_content"].flatMap((name) => matrices?.get(name)?.data[cell] ?? []);

function masked(header: AttentionHeader, q: number, k: number, { score, biased: x, bias, masked: y }: CellSteps) {
  const { mask_value: value, mask_fills: fills, scale, cap } = header;
  if (bias === -Infinity) {
    const why = `hidden: ${whyHidden(header, q, k)}`;
    if (value !== null && fills === "scores") {
      const product = span("nowrap", `${exact(value)} × ${number(scale)}`);
      const then = `${cap ? " and the soft cap" : ""}${header.biased ? "; no bias is added" : ""}`;
      return [
        how(`${number(header.biased ? x : score)} → `, product, " "),
        equals(y),
        span("why", `${why}, before the scaling${then}`),
      ];
    }
    const before = Number.isNaN(x) ? "" : `${number(x)} → `; // no bias is shown outside of LongT5's window
    return [how(before), result(y, value === null ? number(y) : exact(y)), span("why", why)];
  }
  if (bias !== 0) {
    return [how(number(x), " + ", operand(bias, 4), " "), equals(y), span("why", "the mask adds a number here")];
  }
  const why = `kept: ${whyKept(header, q, k)}`;
  return [result(y, number(y), "result", String(y)), how(" ", span("why-inline", why))];
}

function whyHidden({ mask_reasons: reasons, mask_value: value }: AttentionHeader, q: number, k: number) {
  const reason = reasons && reasonOf(reasons, q, k);
  if (!reason) return `the mask ${value === null ? "adds −∞" : `fills in ${exact(value)}`} here`;
  const of = { padding: "is padding", future: "comes after", window: "is outside the window of" };
  return `key ${k} ${of[reason]}${reason === "padding" ? "" : ` query ${q}`}`;
}

function whyKept({ mask, mask_reasons: reasons }: AttentionHeader, q: number, k: number) {
  if (mask === "none") return "nothing is masked";
  if (reasons?.window) return `key ${k} is in the window of query ${q}`;
  if (reasons?.causal) return `key ${k} is not after query ${q}`;
  return reasons ? `key ${k} is no padding` : "the mask adds 0 here";
}

/** A number that a mask fills in: −1e10. */
const exact = (x: number) => x.toExponential().replace("-", "−").replace("e+", "e");

export function weights(
  {
    masked: x,
    exponential,
    sum,
    shift,
    weight,
    weights: row,
    allHidden,
    sink,
  }: Pick<CellSteps, "masked" | "exponential" | "weight"> & Softmax,
  isCovered = false,
) {
  if (allHidden) {
    const all = sink ? "all its weights are 0, and the sink takes all" : "all its weights are 0";
    return [equals(weight), span("why", `every key is hidden from this row, so ${all}`)];
  }
  const exponent = shift === 0 ? number(x) : `(${number(x)} − ${operand(shift, 4)})`;
  const parts = how(
    span("nowrap", "e", template("sup", {}, exponent), " / Σⱼ e", template("sup", {}, "…")),
    " ",
    span("nowrap", "= ", number(exponential), " / ", number(sum)),
    " ",
  );
  if (isCovered) return [parts, equals(weight)];
  const isOfSink = sink !== null && row.every((share) => share < sink.share);
  const largest = isOfSink ? "the sink's score" : "the row's largest";
  const why = `${largest}, ${number(shift)}, is subtracted first: e to the power of it is out of range`;
  const whole = how(" ", span("why-inline row-sum", `· the row: Σⱼ = ${number(sumOf(row))}`));
  const ofSink = sink && `the sum has ${number(sink.exponential)} of the sink, which takes ${percent(sink.share)}`;
  return [
    ...[parts, equals(weight), whole],
    ...(ofSink ? [how(span("why", ofSink))] : []),
    ...(shift === 0 ? [] : [how(span("why", why))]),
  ];
}

/** Row q of the triangle A: 1 / (q + 1) up to the diagonal. */
function shares(q: number, k: number, { weight }: CellSteps) {
  if (k > q) return [result(0, number(0)), span("why", `key ${k} comes after row ${q}: the upper triangle is 0`)];
  const rows = q ? `${q + 1} tokens` : "1 token";
  return [how(`1 / ${q + 1} `), equals(weight), span("why", `row ${q} shares 1 among the ${rows} up to its own`)];
}

/** The mean of the rows 0 to q. */
function loop(q: number, k: number, mean: Child) {
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
  return template(tag, { class: "nowrap" }, `[${numbers.join(", ")}${count > shown ? ", …" : ""}]`);
}

export interface Line {
  /** where it is not the name's; null for none */
  title?: string | null;
  formula: Child[];
  below?: Node;
}

/** A line of arithmetic, with its name above it. */
export const line = (name: string, properties: Record<string, unknown>, { title, formula, below }: Line) =>
  template(
    "div",
    { key: name, dataset: { line: name }, ...properties },
    title !== null && template("div", { class: "line-name" }, title ?? name.replaceAll("_", " ")),
    template("div", { class: "formula" }, ...formula),
    below,
  );
