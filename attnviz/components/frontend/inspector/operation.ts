// A cell of a matrix that is no product: a sum, a mean, a norm, an activation, a softmax of its row; from the real
// operands.

import { CUBE, geluByTanh, momentsOf, normalShare, runningSums, sumOf, turnOf } from "../core/arithmetic.ts";
import { softmax } from "../core/attention.ts";
import { cellName, number, operand } from "../core/format.ts";
import { span, template } from "../core/template.ts";
import { equals, how, line, weights } from "./chain.ts";
import { Folded, scroller, termLines } from "./lists.ts";
import type { Child } from "../core/template.ts";

/** numbers that fit a line or two of a narrow column */
const INLINE = { mean: 3, norm: 2 };

export type CellInputs = { at: Cell; inputs: DrawnPanel[] };
/** What is written of a cell, and what comes out. */
export type Worked = { lines: Child[]; value: number };

export class Operation {
  squares: Folded = new Folded("variance");

  /** How a cell is made of matrices that are drawn; null if that is not known. */
  worked({ at, panels, made }: { at: Cell; panels: DrawnPanel[]; made: ProductOf | OperationOf | undefined }) {
    if (!made || !("kind" in made)) return null;
    const inputs = made.of.flatMap((name) => panels.find((one) => one.name === name) ?? []);
    if (!inputs.length || inputs.length < made.of.length) return null;
    const of: CellInputs = { at, inputs };
    if (made.kind === "sum") return summed(of);
    if (made.kind === "norm") return this.norm(of, made);
    if (made.kind === "rotation") return turned(of, made);
    if (made.kind === "rms_norm") return this.rmsNorm(of, made);
    return made.kind === "activation" ? activation(of, made.name) : softmaxOfRow(of);
  }

  norm({ at: { i, j }, inputs: [input] }: CellInputs, { weight, bias, eps, over }: OperationOf): Worked {
    const all = over === "token" ? Array.from(input.z[i]) : input.z.flatMap((row) => Array.from(row));
    const { mean, variance } = momentsOf(all);
    const added = eps ?? 0;
    const x = input.z[i][j];
    const scaled = (x - mean) / Math.sqrt(variance + added);
    const [gamma, beta] = [weight?.[j] ?? 1, bias?.[j] ?? 0];
    const value = scaled * gamma + beta;
    const square = (one: number) => span("nowrap", `(${number(one, 2)} − ${operand(mean)})²`);
    const norm = [
      span("nowrap", `(${number(x)} − ${operand(mean, 4)})`),
      " / ",
      span("nowrap", `√(${number(variance)} + ${added})`),
      ...(weight ? [" × ", span("nowrap", operand(gamma, 4), span("why-inline", " (γ)"))] : []),
      ...(bias ? [" + ", span("nowrap", operand(beta, 4), span("why-inline", " (β)"))] : []),
      " ",
      equals(value),
    ];
    const lines = [
      line("mean", PLAIN, { formula: [how(...averageOf(all, operand)), equals(mean)] }),
      line("variance", PLAIN, {
        formula: [how(...averageOf(all, square)), equals(variance)],
        below: this.listSquares(all, mean, variance),
      }),
      line("norm", CURRENT, { formula: norm }),
    ];
    return { lines, value };
  }

  /** x / √(mean of x² + eps) · γ, of each row, or with the root of all heads together. */
  rmsNorm({ at: { i, j }, inputs: [input] }: CellInputs, { weight, eps, root }: OperationOf): Worked {
    const all = Array.from(input.z[i]);
    const mean = sumOf(all.map((x) => x * x)) / all.length;
    const divisor = root ? root[i] : Math.sqrt(mean + (eps ?? 0));
    const [x, gamma] = [input.z[i][j], weight?.[j] ?? 1];
    const value = (x / divisor) * gamma;
    const below = root ? number(divisor) : `√(${number(mean)} + ${eps ?? 0})`;
    const formula = [
      span("nowrap", `${number(x)} / ${below}`),
      " × ",
      span("nowrap", operand(gamma, 4), span("why-inline", " (γ)")),
      " ",
      equals(value),
      ...(root ? [span("why", `${number(divisor)}: the root of the mean of the squares of all heads`)] : []),
    ];
    const square = (one: number) => span("nowrap", `${operand(one)}²`);
    const squares = line("mean of squares", PLAIN, {
      formula: [how(...averageOf(all, square)), equals(mean)],
      below: this.listSquares(all, 0, mean),
    });
    return { lines: [...(root ? [] : [squares]), line("norm", CURRENT, { formula })], value };
  }

  listSquares(all: number[], mean: number, variance: number) {
    const away = (c: number) => all[c] - mean;
    const [count, summary] = [all.length, all.length === 1 ? "the one square" : `all ${all.length} squares`];
    const terms = { count, left: away, right: away, label: String, sum: variance * count, summary };
    return this.squares.show(summary, () => termLines({ ...terms, colours: ["plain", "plain"] }));
  }
}

const PLAIN = { class: "line" };
export const CURRENT = { class: "line current" };

/** `(1.00 + 2.00 + …) / 5 `, of which the first are written. */
function averageOf(all: number[], written: (x: number) => Child): Child[] {
  const first = all.slice(0, INLINE.norm).flatMap((x, n) => [n ? " + " : "", written(x)]);
  return ["(", ...first, `${all.length > INLINE.norm ? " + …" : ""}) / ${all.length} `];
}

function summed({ at: { i, j }, inputs }: CellInputs): Worked {
  const values = inputs.map(({ z }) => z[i][j]);
  const value = sumOf(values);
  const names = inputs.flatMap((panel, n) => [n ? " + " : "", span("nowrap", cellName(panel, i, j))]);
  const numbers = values.flatMap((x, n) => [n ? " + " : "", operand(x, 4)]);
  const formula = [how(...names, template("br")), ...numbers, " ", equals(value)];
  return { lines: [line("sum", CURRENT, { formula })], value };
}

const ROUNDING = 1e-4; // of a length that stays, in float32

/** A dimension of a pair that is turned by an angle: a cos θ − b sin θ, or a sin θ + b cos θ. */
function turned({ at: { i, j }, inputs: [input] }: CellInputs, made: OperationOf): Worked {
  const turn = turnOf(made, input.height, i, j);
  const own = input.z[i][j];
  if (!turn) {
    const formula = [cellName(input, i, j), " ", equals(own), span("why", "this dimension is not turned")];
    return { lines: [line("rotation", CURRENT, { formula })], value: own };
  }
  const { pair, a, b, cos, sin, isFirst } = turn;
  const [x, y] = [a, b].map((column) => input.z[i][column]);
  const value = isFirst ? x * cos - y * sin : x * sin + y * cos;
  const factor = Math.hypot(cos, sin);
  const isLonger = Math.abs(factor - 1) > ROUNDING;
  const before = isLonger ? "f · " : ""; // what models with a stretched range multiply cos and sin by
  const [left, right] = (isFirst ? ["cos θ", "sin θ"] : ["sin θ", "cos θ"]).map((name) => before + name);
  const sign = isFirst ? " − " : " + ";
  const names = [span("nowrap", `${cellName(input, i, a)} · ${left}`), sign];
  const formula = [
    how(...names, span("nowrap", `${cellName(input, i, b)} · ${right}`), template("br")),
    span("nowrap", `${number(x)} · ${operand(isFirst ? cos : sin, 4)}`),
    sign,
    span("nowrap", `${operand(y, 4)} · ${operand(isFirst ? sin : cos, 4)}`),
    " ",
    equals(value),
  ];
  const angle = [
    `θ of row ${i} and pair ${pair} `,
    equals(Math.atan2(sin, cos)),
    isLonger && span("why", `and f = ${number(factor)}: the length changes by this factor`),
  ];
  const lines = [line("angle", PLAIN, { formula: angle }), line("rotation", CURRENT, { formula })];
  return { lines, value };
}

function activation({ at: { i, j }, inputs: [input] }: CellInputs, name: OperationOf["name"]): Worked {
  const { value, formula } = ACTIVATED[name ?? "gelu"](input.z[i][j]);
  return { lines: [line("activation", CURRENT, { formula })], value };
}

const ACTIVATED: Record<string, (x: number) => { value: number; formula: Child[] }> = {
  relu: (x) => {
    const value = Math.max(0, x);
    const why = x > 0 ? "above 0: it stays" : "not above 0: it becomes 0";
    return { value, formula: [`max(0, ${number(x)}) `, equals(value), span("why", why)] };
  },
  gelu: (x) => {
    const share = normalShare(x);
    const why = `Φ(x): the share of a normal distribution below ${number(x)}`;
    const product = span("nowrap", `${number(x)} × ${number(share)}`);
    return { value: x * share, formula: [how("x · Φ(x) = ", product, " "), equals(x * share), how(span("why", why))] };
  },
  /** as GPT-2 approximates it */
  gelu_tanh: (x) => {
    const { inside, tanh, result } = geluByTanh(x);
    const cube = span("nowrap", `√(2/π) · (${number(x)} + ${CUBE} · ${operand(x, 4)}³)`);
    const product = span("nowrap", `½ · ${operand(x, 4)} · (1 + ${operand(tanh, 4)})`);
    const why = `tanh(${number(inside)}) = ${number(tanh)}, of ${number(inside)} = `;
    return { value: result, formula: [product, " ", equals(result), how(span("why", why, cube))] };
  },
};

function softmaxOfRow({ at: { i, j }, inputs: [input] }: CellInputs): Worked {
  const row = softmax(Float64Array.from(input.z[i]));
  const weight = row.weights[j];
  const formula = weights({ ...row, masked: input.z[i][j], exponential: row.exponentials[j], weight });
  return { lines: [line("softmax", CURRENT, { formula })], value: weight };
}

/** One average of the loop, of column j over the rows 0 to i of X: the sum over the past, then the division. */
export function runningMean(x: Rows, { i, j }: Cell, label: (row: number) => string, list: Folded): Worked {
  const count = i + 1;
  const column = Array.from({ length: count }, (_, row) => x[row][j]);
  const sums = runningSums(column);
  const value = sums[count] / count;
  const first = column.slice(0, INLINE.mean).flatMap((one, n) => [n ? " + " : "", span("nowrap", operand(one))]);
  const rest = count > INLINE.mean ? " + …" : "";
  const formula = ["(", ...first, `${rest}) / ${count} = ${number(sums[count])} / ${count} `, equals(value)];
  const summary = count === 1 ? "the one number" : `all ${count} running sums`;
  const below = list.show(summary, () => meanLines(column, sums, label, summary));
  return { lines: [line("mean", CURRENT, { title: null, formula, below })], value };
}

function meanLines(column: number[], sums: number[], label: (row: number) => string, summary: string): Child[] {
  const lines = column.map((one, row) => {
    const sum = sums[row + 1];
    const after = template("b", { title: String(sum), dataset: { running: sum } }, number(sum));
    const added = row ? [`${number(sums[row])} + ${operand(one, 4)} = `, after] : [after];
    return template("div", { class: "term" }, span("term-label", label(row)), span("term-sum", ...added));
  });
  const mean = template("b", {}, number(sums[column.length] / column.length));
  return [
    scroller("terms", summary, {}, ...lines),
    template("div", { class: "terms-total" }, `divided by ${column.length}: `, mean),
  ];
}
