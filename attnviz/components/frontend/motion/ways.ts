// The ways from an average to attention. The loop adds row after row of X, then divides; the others make the weights
// where they have to, and multiply.

import { quoted } from "../core/format.ts";
import { weighted } from "../core/attention.ts";
import { blankCells, cell, firstOf, rowOf, whole } from "./order.ts";
import { productBeats } from "./products.ts";
import { softmaxBeats } from "./softmax.ts";
import { at, eased, factor, ofExample, paceOf, panelOf, rowMs, rowName, shown, within } from "./words.ts";

const ADD = { slow: 1000, few: 4, rest: 4000 };
const DIVIDE = 1400; // ms
const TELLING = 2; // the row that is computed slowly where none is pinned: the mean of three
const LANDED = 0.75; // of a beat: then the row is added

/** The example's row where none is pinned. */
const telling = ({ q, k }: Pair, { shape }: Panel): Pair => ({ q: q ?? Math.min(TELLING, shape[0] - 1), k });

/** A · X, with the triangle as it is. */
export function matrixBeats(played: Played): Beat[] {
  const result = resultOf(played);
  return result ? productBeats({ ...played, example: telling(played.example, result) }) : [];
}

/** First the softmax of each row, then the product. */
export function weightsBeats(played: Played): Beat[] {
  const result = resultOf(played);
  if (!result) return [];
  const told = { ...played, example: telling(played.example, result) };
  const unmade = { [result.name]: [whole(result.shape)] };
  const softmax = softmaxBeats(told).map(({ frame, ...beat }) => ({
    ...beat,
    frame: (share: number) => {
      const shares = frame(share);
      return { ...shares, blank: { ...shares.blank, ...unmade } };
    },
  }));
  return softmax.length ? [...softmax, ...productBeats(told)] : [];
}

/** What a way's product gives. */
function resultOf({ picture }: Played) {
  const [name] = Object.keys(picture.products ?? {});
  return name === undefined ? null : panelOf(name, picture);
}

export function loopBeats({ picture, example }: Played): Beat[] {
  const [x, result] = ["embeddings_k", "by_loop"].map((one) => panelOf(one, picture));
  if (!x || !result) return [];
  return new LoopMotion(x, result, picture.labels, telling(example, result)).beats();
}

class LoopMotion {
  x: Panel;
  result: Panel;
  labels: Labels;
  rows: number;
  width: number;
  row: number;

  constructor(x: Panel, result: Panel, labels: Labels, { q }: Pair) {
    this.x = x;
    this.result = result;
    this.labels = labels;
    this.rows = result.shape[0];
    this.width = result.shape[1];
    this.row = Math.min(q ?? 0, this.rows - 1);
  }

  beats(): Beat[] {
    const order = firstOf(this.rows, this.row);
    const count = this.row + 1;
    return [
      ...ofExample([
        ...Array.from({ length: count }, (_, j) => ({
          ms: paceOf(j, count, ADD),
          frame: (share: number) => this.adding(j, share),
        })),
        { ms: DIVIDE, frame: (share) => this.dividing(share) },
      ]),
      ...order.slice(1).map((i, n) => this.rowBeat(order.slice(0, n + 1), i)),
    ];
  }

  /** The sum of the first `count` rows of X, in the place of the result. */
  sums(count: number): WrittenCell[] {
    const sums = weighted(new Float32Array(count).fill(1), this.x.data, this.width);
    return Array.from(sums, (value, column) => ({ panel: this.result.name, row: this.row, column, value }));
  }

  /** @param done rows */
  blank(done: number[]) {
    return { [this.result.name]: blankCells(this.result.shape, done) };
  }

  /** What the result is called while its row holds a sum, not yet a mean. */
  stands() {
    return { [this.result.name]: { title: `${this.result.title} · row ${this.row}: sum so far` } };
  }

  ownRow(): LitCells {
    return { panel: this.result.name, box: rowOf(this.row, this.width), ink: "attention", strong: true };
  }

  adding(j: number, share: number): Partial<Frame> {
    const isThere = share >= LANDED;
    const count = isThere ? j + 1 : j;
    const flight = (column: number): Flight => ({
      from: { panel: this.x.name, box: cell(j, column) },
      to: { panel: this.result.name, box: cell(this.row, column) },
      along: eased(within(share, [0.1, LANDED])),
      value: at(this.x, j, column),
      coloured: this.x.name,
    });
    return {
      blank: this.blank(count ? [this.row] : []),
      written: count ? this.sums(count) : [],
      stands: this.stands(),
      lit: [{ panel: this.x.name, box: rowOf(j, this.width), ink: "key", strong: true }, this.ownRow()],
      flights: isThere ? [] : Array.from({ length: this.width }, (_, column) => flight(column)),
      says: [
        [rowName(this.labels, "query", this.row), "query"],
        [j ? " += " : " = "],
        [`x[${j}], ${quoted(this.labels.key?.[j] ?? "")}`, "key"],
        [`: ${count} of ${this.row + 1} added`],
      ],
    };
  }

  dividing(share: number): Partial<Frame> {
    const isDone = share >= 0.6;
    const count = this.row + 1;
    const [sum] = this.sums(count);
    return {
      blank: this.blank([this.row]),
      written: isDone ? [] : this.sums(count),
      stands: isDone ? {} : this.stands(),
      lit: [
        { panel: this.x.name, box: { row: 0, column: 0, rows: count, columns: this.width }, ink: "key" },
        this.ownRow(),
      ],
      says: [
        [rowName(this.labels, "query", this.row), "query"],
        [`: divided by ${count}, such as ${factor(sum.value)} ÷ ${count} = `],
        [shown(at(this.result, this.row, 0)), "attention"],
      ],
    };
  }

  rowBeat(done: number[], i: number): Beat {
    return {
      ms: rowMs(this.rows),
      frame: (share) => ({
        blank: this.blank(share >= 0.5 ? [...done, i] : done),
        lit: [
          { panel: this.x.name, box: { row: 0, column: 0, rows: i + 1, columns: this.width }, ink: "key" },
          { panel: this.result.name, box: rowOf(i, this.width), ink: "attention" },
        ],
        says: [
          [rowName(this.labels, "query", i), "query"],
          [`: the mean of ${i ? `the rows 0 to ${i}` : "row 0 alone"}`],
        ],
      }),
    };
  }
}
