// The softmax of each row: the exponentials, their sum, the division. The example's row cell by cell, then row by row.

import { runningSums, sumOf } from "../core/arithmetic.ts";
import { softmax } from "../core/attention.ts";
import { number, quantity } from "../core/format.ts";
import { blankCells, cell, firstOf, rowOf } from "./order.ts";
import { at, columnName, factor, ofExample, paceOf, panelOf, rowMs, rowName, shown, within } from "./words.ts";
import type { Softmax } from "../core/attention.ts";

const CELL = { slow: 700, few: 4, rest: 2600 };
const SUM = 1600; // ms
const ONE = 900;

/** The matrices of a softmax; the sums of its rows are shown where there is room for them. */
const NAMES = {
  masked: ["masked", "masked_zeros", "logits"],
  weights: ["weights", "softmax_weights", "probabilities"],
  sums: ["row_sum"],
  scores: ["sinks"], // of a sink
};

export function softmaxBeats({ picture, example, hidden }: Played): Beat[] {
  const one = (names: string[]) => names.map((name) => panelOf(name, picture)).find(Boolean) ?? null;
  const [masked, weights, sums, sinks] = [NAMES.masked, NAMES.weights, NAMES.sums, NAMES.scores].map(one);
  if (!masked || !weights || !weights.data.length) return [];
  return new SoftmaxMotion({ masked, weights, sums, sinks }, picture.labels, example, hidden).beats();
}

class SoftmaxMotion {
  hidden: number;
  masked: Panel;
  weights: Panel;
  sums;
  sinks;
  labels: Labels;
  rows: number;
  columns: number;
  row: number;
  known = new Map<number, Softmax>();

  /** @param hidden what a hidden cell holds */
  constructor(
    { masked, weights, sums, sinks }: { masked: Panel; weights: Panel; sums: Panel | null; sinks: Panel | null },
    labels: Labels,
    { q }: Pair,
    hidden: number,
  ) {
    this.hidden = hidden;
    this.masked = masked;
    this.weights = weights;
    this.sums = sums;
    this.sinks = sinks;
    this.labels = labels;
    this.rows = weights.shape[0];
    this.columns = weights.shape[1];
    this.row = Math.min(q ?? 0, this.rows - 1);
  }

  /** A masked score. */
  score(i: number, j: number) {
    const score = at(this.masked, i, j);
    return Number.isNaN(score) ? this.hidden : score;
  }

  /** The exponentials of a row, and their sum. */
  of(i: number) {
    const scores = () => Float64Array.from({ length: this.columns }, (_, j) => this.score(i, j));
    const made = this.known.get(i) ?? softmax(scores(), this.sinks && at(this.sinks, i, 0));
    this.known.set(i, made);
    return made;
  }

  beats(): Beat[] {
    const columns = Array.from({ length: this.columns }, (_, j) => j);
    return [
      ...ofExample([
        ...columns.map((j) => ({ ms: paceOf(j, this.columns, CELL), frame: () => this.exponential(j) })),
        { ms: SUM, frame: (share) => this.adding(within(share, [0, 0.8])) },
        ...columns.map((j) => ({ ms: paceOf(j, this.columns, CELL), frame: () => this.division(j) })),
        { ms: ONE, frame: () => this.one() },
      ]),
      ...firstOf(this.rows, this.row)
        .slice(1)
        .map((i, n, order) => this.rowBeat(() => [this.row, ...order.slice(0, n + 1)], i)),
    ];
  }

  /** What is not there while the example's row is computed: but some of its weights, and perhaps their sum. */
  blank(count: number, isSummed: boolean) {
    const filled = Array.from({ length: count }, (_, j) => j);
    return this.open(blankCells(this.weights.shape, [], this.row, filled), isSummed ? [this.row] : []);
  }

  /** Cells that are not there yet, of the weights and of the sums. @param summed rows */
  open(weights: CellBox[], summed: number[]): Record<string, CellBox[]> {
    const { sums } = this;
    return { [this.weights.name]: weights, ...(sums && { [sums.name]: blankCells(sums.shape, summed) }) };
  }

  /** Cells that still show their exponentials. */
  written(from: number, to: number): WrittenCell[] {
    const { exponentials } = this.of(this.row);
    return [...exponentials.subarray(from, to)].flatMap((value, n) => {
      const column = from + n;
      const isHidden = Number.isNaN(at(this.weights, this.row, column));
      return isHidden ? [] : [{ panel: this.weights.name, row: this.row, column, value, plain: true }];
    });
  }

  lit(column: number | null, panels: Panel[] = [this.masked, this.weights]): LitCells[] {
    const rows = panels.map((panel) => this.rowLit(panel, this.row));
    if (column === null) return rows;
    const one = (panel: Panel): LitCells => ({
      panel: panel.name,
      box: cell(this.row, column),
      ink: "attention",
      strong: true,
    });
    return [...rows, ...panels.map(one)];
  }

  rowLit = (panel: Panel, i: number): LitCells => ({ panel: panel.name, box: rowOf(i, panel.shape[1]), ink: "query" });

  name(j: number) {
    return [columnName(this.labels, this.weights.cols, j), "key"] as Said;
  }

  /**
   * What the matrices are called while the example's row holds exponentials.
   * @param then what is done with them
   * @param isSummed whether their sum is there, or is coming
   */
  stands(then: string, isSummed: boolean) {
    const { shift } = this.of(this.row);
    const exp = `exp(${quantity(this.masked.name)}${shift ? " − largest" : ""})`;
    return {
      [this.weights.name]: { title: `row ${this.row}: ${exp}${then}` },
      ...(this.sums && isSummed && { [this.sums.name]: { title: "Σ exp" } }),
    };
  }

  exponential(j: number): Partial<Frame> {
    const { exponentials, shift } = this.of(this.row);
    const score = this.score(this.row, j);
    const exponent =
      long(score) +
      (shift && score > -Infinity ? ` − ${Math.abs(shift) < HUGE ? factor(shift) : `(${long(shift)})`}` : "");
    return {
      blank: this.blank(j + 1, false),
      written: this.written(0, j + 1),
      stands: this.stands("", false),
      lit: this.lit(j),
      veiled: [this.masked.name],
      says: [this.name(j), [`: exp(${exponent}) = ${size(exponentials[j])}`]],
    };
  }

  adding(share: number): Partial<Frame> {
    const count = Math.round(share * this.columns);
    const { exponentials, sink } = this.of(this.row);
    const isAll = count === this.columns;
    const soFar = runningSums(exponentials)[count] + (isAll && sink ? sink.exponential : 0);
    return {
      blank: this.blank(this.columns, true),
      written: [...this.written(0, this.columns), ...this.total(soFar)],
      stands: this.stands("", true),
      lit: [...this.lit(count ? count - 1 : null, [this.weights]), ...this.sumLit()],
      says: [
        [`the sum of the row’s exponentials${isAll && sink ? `, with ${size(sink.exponential)} of the sink` : ""}: `],
        [size(soFar), "attention"],
      ],
    };
  }

  total(value: number): WrittenCell[] {
    return this.sums ? [{ panel: this.sums.name, row: this.row, column: 0, value, plain: true }] : [];
  }

  sumLit(): LitCells[] {
    return this.sums ? [{ panel: this.sums.name, box: cell(this.row, 0), ink: "attention", strong: true }] : [];
  }

  division(j: number): Partial<Frame> {
    const { exponentials, sum } = this.of(this.row);
    const weight = at(this.weights, this.row, j);
    const isHidden = Number.isNaN(weight);
    return {
      blank: this.blank(this.columns, true),
      written: [...this.written(j + 1, this.columns), ...this.total(sum)],
      stands: this.stands(" ÷ sum, from the left", true),
      lit: [...this.lit(j, [this.weights]), ...this.sumLit()],
      says: isHidden
        ? [this.name(j), [": hidden, no share"]]
        : [this.name(j), [`: ${size(exponentials[j])} ÷ ${size(sum)} = `], [shown(weight), "attention"]],
    };
  }

  one(): Partial<Frame> {
    const weights = Array.from({ length: this.columns }, (_, j) => at(this.weights, this.row, j) || 0); // NaN is hidden
    const sum = this.sums ? at(this.sums, this.row, 0) : sumOf(weights);
    const { sink } = this.of(this.row);
    return {
      blank: this.blank(this.columns, true),
      lit: this.lit(null, this.sums ? [this.weights, this.sums] : [this.weights]),
      says: [
        [`${rowName(this.labels, "query", this.row)}: `, "query"],
        [`the weights sum to ${shown(sum)}`, "attention"],
        ...(sink ? [[`; the sink takes ${shown(sink.share)}`] as Said] : []),
      ],
    };
  }

  /**
   * A row that is done at once. Its frame is made when it is shown: a long text has many rows.
   * @param done the rows that are done then
   */
  rowBeat(done: () => number[], i: number): Beat {
    let frame: Partial<Frame> | undefined;
    return { ms: rowMs(this.rows), frame: () => (frame ??= this.rowFrame(done(), i)) };
  }

  rowFrame(done: number[], i: number): Partial<Frame> {
    const { sum } = this.of(i);
    return {
      blank: this.open(blankCells(this.weights.shape, done), done),
      lit: [this.masked, this.weights, ...(this.sums ? [this.sums] : [])].map((panel) => this.rowLit(panel, i)),
      says: [
        [`${rowName(this.labels, "query", i)}: `, "query"],
        [sum ? `÷ ${size(sum)}, the sum of its exponentials` : "all is hidden, so it has no weights"],
      ],
    };
  }
}

const HUGE = 1e6;

/** A score, which may be what a mask fills in. */
const long = (x: number) => (Math.abs(x) < HUGE ? shown(x) : number(x, 1));

/** An exponential, which may be huge or tiny. */
const size = (x: number) => (x >= 1e6 || (x > 0 && x < 1e-4) ? number(x, 1) : shown(x));
