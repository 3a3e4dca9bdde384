// A cell of a matrix that is no product: a sum, a norm, an activation, a softmax of its row; from the real operands.

import { CUBE, geluByTanh, momentsOf, normalShare, sumOf } from "../core/arithmetic.ts";
import { equals, how, makeLine, weights } from "./chain.ts";
import { softmax } from "../core/attention.ts";
import { element, span } from "../core/dom.ts";
import { cellName, number, operand } from "../core/format.ts";
import { TermList } from "./terms.ts";

const LINES = ["mean", "variance", "norm", "sum", "activation", "softmax"];
const INLINE = 2; // numbers that fit a line of a narrow column

export type Of = { at: Cell; inputs: DrawnPanel[] };

export class Operation {
  computed: number;
  squares: TermList;
  lines;
  root: HTMLDivElement;

  constructor() {
    this.computed = NaN;
    this.squares = new TermList("variance", "plain", "plain");
    this.lines = Object.fromEntries(LINES.map((name) => [name, makeLine(name)]));
    this.lines.variance.root.append(this.squares.root);
    this.root = element("div", {}, ...LINES.map((name) => this.lines[name].root));
  }

  /** Shows a cell; returns whether it is known how it is made, of matrices that are drawn. */
  show({ at, panels, made }: { at: Cell; panels: DrawnPanel[]; made: ProductOf | OperationOf | undefined }) {
    const names = made && "kind" in made ? made.of : [];
    const inputs = names.flatMap((name) => panels.find((one) => one.name === name) ?? []);
    const isKnown = names.length > 0 && inputs.length === names.length;
    this.root.hidden = !isKnown;
    if (!isKnown || !made || !("kind" in made)) return false;
    for (const name of LINES) this.lines[name].root.hidden = true;
    const of: Of = { at, inputs };
    if (made.kind === "sum") this.computed = this.sum(of);
    else if (made.kind === "norm") this.computed = this.norm(of, made);
    else if (made.kind === "activation") this.computed = this.activation(of, made.name);
    else this.computed = this.softmax(of);
    return true;
  }

  write(name: string, ...parts: (Node | string)[]) {
    const { root, formula } = this.lines[name];
    root.hidden = false;
    root.classList.toggle("current", name !== "mean" && name !== "variance");
    formula.replaceChildren(...parts);
  }

  sum({ at: { i, j }, inputs }: Of) {
    const values = inputs.map(({ z }) => z[i][j]);
    const sum = sumOf(values);
    const names = inputs.flatMap((panel, n) => [n ? " + " : "", span("nowrap", cellName(panel, i, j))]);
    const numbers = values.flatMap((x, n) => [n ? " + " : "", operand(x, 4)]);
    this.write("sum", how(...names, element("br")), ...numbers, " ", equals(sum));
    return sum;
  }

  norm({ at: { i, j }, inputs: [input] }: Of, { weight, bias, eps, over }: OperationOf) {
    const all = over === "token" ? Array.from(input.z[i]) : input.z.flatMap((row) => Array.from(row));
    const { mean, variance } = momentsOf(all);
    const added = eps ?? 0;
    const shown = all.slice(0, INLINE);
    const more = all.length > INLINE ? " + …" : "";
    const summed = shown.flatMap((x, n) => [n ? " + " : "", operand(x)]);
    this.write("mean", how("(", ...summed, `${more}) / ${all.length} `), equals(mean));
    const squares = shown.flatMap((x, n) => [n ? " + " : "", span("nowrap", `(${number(x, 2)} − ${operand(mean)})²`)]);
    this.write("variance", how("(", ...squares, `${more}) / ${all.length} `), equals(variance));
    this.listSquares(all, mean, variance);
    const x = input.z[i][j];
    const scaled = (x - mean) / Math.sqrt(variance + added);
    const [gamma, beta] = [weight?.[j] ?? 1, bias?.[j] ?? 0];
    const value = scaled * gamma + beta;
    this.write(
      "norm",
      span("nowrap", `(${number(x)} − ${operand(mean, 4)})`),
      " / ",
      span("nowrap", `√(${number(variance)} + ${added})`),
      ...(weight ? [" × ", span("nowrap", operand(gamma, 4), span("why-inline", " (γ)"))] : []),
      ...(bias ? [" + ", span("nowrap", operand(beta, 4), span("why-inline", " (β)"))] : []),
      " ",
      equals(value),
    );
    return value;
  }

  listSquares(all: number[], mean: number, variance: number) {
    const away = (c: number) => all[c] - mean;
    const [count, summary] = [all.length, all.length === 1 ? "the one square" : `all ${all.length} squares`];
    this.squares.set({ count, left: away, right: away, label: String, sum: variance * count, summary });
  }

  activation({ at: { i, j }, inputs: [input] }: Of, name: OperationOf["name"]) {
    const x = input.z[i][j];
    if (name === "relu") {
      const why = x > 0 ? "above 0: it stays" : "not above 0: it becomes 0";
      this.write("activation", `max(0, ${number(x)}) `, equals(Math.max(0, x)), span("why", why));
      return Math.max(0, x);
    }
    if (name === "gelu_tanh") return this.byTanh(x);
    const share = normalShare(x);
    const why = `Φ(x): the share of a normal distribution below ${number(x)}`;
    const product = span("nowrap", `${number(x)} × ${number(share)}`);
    this.write("activation", how("x · Φ(x) = ", product, " "), equals(x * share), how(span("why", why)));
    return x * share;
  }

  /** GELU as GPT-2 approximates it. */
  byTanh(x: number) {
    const { inside, tanh, result } = geluByTanh(x);
    const cube = span("nowrap", `√(2/π) · (${number(x)} + ${CUBE} · ${operand(x, 4)}³)`);
    const product = span("nowrap", `½ · ${operand(x, 4)} · (1 + ${operand(tanh, 4)})`);
    const why = `tanh(${number(inside)}) = ${number(tanh)}, of ${number(inside)} = `;
    this.write("activation", product, " ", equals(result), how(span("why", why, cube)));
    return result;
  }

  softmax({ at: { i, j }, inputs: [input] }: Of) {
    const row = softmax(Float64Array.from(input.z[i]));
    const masked = input.z[i][j];
    const weight = row.weights[j];
    this.write("softmax", ...weights({ ...row, masked, exponential: row.exponentials[j], weight }));
    return weight;
  }
}
