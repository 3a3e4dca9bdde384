// Weights · V: each row of V, times its weight, is added to the output of a query. The example's row value by value,
// then row by row.

import { quoted } from "../core/format.ts";
import { weighted } from "../core/attention.ts";
import { blankCells, cell, firstOf, rowOf } from "./order.ts";
import { at, eased, ofExample, paceOf, panelOf, rowIn, rowMs, rowName, shown, within } from "./words.ts";

const ADD = { slow: 1100, few: 4, rest: 4500 };
const DONE = 900; // ms
const MOST = 128; // cells of a row that fly one by one; of a longer row only the sum is seen

export function valuesBeats({ picture, example }: Played): Beat[] {
  const [weights, value, result] = ["weights", "value", "head_outputs"].map((one) => panelOf(one, picture));
  if (!weights || !value || !result || !weights.data.length) return [];
  return new ValuesMotion({ weights, value, result }, picture.labels, example).beats();
}

class ValuesMotion {
  weights: Panel;
  value: Panel;
  result: Panel;
  labels: Labels;
  rows: number;
  width: number;
  row: number;
  keys: number[];

  constructor(
    { weights, value, result }: { weights: Panel; value: Panel; result: Panel },
    labels: Labels,
    { q }: Pair,
  ) {
    this.weights = weights;
    this.value = value;
    this.result = result;
    this.labels = labels;
    this.rows = result.shape[0];
    this.width = result.shape[1];
    this.row = Math.min(q ?? 0, this.rows - 1);
    const all = Array.from({ length: weights.shape[1] }, (_, k) => k);
    this.keys = all.filter((k) => !Number.isNaN(at(weights, this.row, k)));
  }

  beats(): Beat[] {
    const order = firstOf(this.rows, this.row);
    return [
      ...ofExample([
        ...this.keys.map((_, n) => ({
          ms: paceOf(n, this.keys.length, ADD),
          frame: (share: number) => this.adding(n, share),
        })),
        { ms: DONE, frame: () => this.done() },
      ]),
      ...order.slice(1).map((i, n) => this.rowBeat(order.slice(0, n + 1), i)),
    ];
  }

  /** The sum of the first `count` weighted values. */
  sums(count: number): WrittenCell[] {
    const weights = rowIn(this.weights, this.row).subarray(0, this.keys[count - 1] + 1);
    const sums = weighted(weights, this.value.data, this.width);
    return Array.from(sums, (value, column) => ({ panel: this.result.name, row: this.row, column, value }));
  }

  terms(): Term[] {
    return this.keys.map((k) => ({
      left: at(this.weights, this.row, k),
      right: null,
      product: NaN,
      label: `V ${quoted(this.labels.key?.[k] ?? String(k))}`,
    }));
  }

  blank(isBegun: boolean) {
    const { shape, name } = this.result;
    return { [name]: blankCells(shape, isBegun ? [this.row] : []) };
  }

  adding(n: number, share: number): Partial<Frame> {
    const k = this.keys[n];
    const count = share >= 0.8 ? n + 1 : n;
    const weight = at(this.weights, this.row, k);
    return {
      blank: this.blank(count > 0),
      written: count ? this.sums(count) : [],
      stands: { [this.result.name]: { title: `${this.result.title} · sum so far` } },
      veiled: [this.weights.name, this.value.name],
      lit: [
        { panel: this.weights.name, box: rowOf(this.row, this.weights.shape[1]), ink: "query" },
        { panel: this.weights.name, box: cell(this.row, k), ink: "attention", strong: true },
        { panel: this.value.name, box: rowOf(k, this.width), ink: "value", strong: true },
        { panel: this.result.name, box: rowOf(this.row, this.width), ink: "attention" },
      ],
      flights: share < 0.8 && this.width <= MOST ? this.flights(k, weight, eased(within(share, [0.15, 0.8]))) : [],
      work: {
        terms: this.terms(),
        count: n + 1,
        newest: within(share, [0, 0.3]),
        sum: null,
        inks: ["attention", "value"],
      },
      says: [
        [`${shown(weight)}`, "attention"],
        [" × "],
        [`row ${k} of V, ${quoted(this.labels.key?.[k] ?? "")}`, "value"],
        [count ? `, added: ${count} of ${this.keys.length}` : ""],
      ],
    };
  }

  /** The row of a value, times its weight. */
  flights(k: number, weight: number, along: number): Flight[] {
    return Array.from({ length: this.width }, (_, column) => ({
      from: { panel: this.value.name, box: cell(k, column) },
      to: { panel: this.result.name, box: cell(this.row, column) },
      along,
      value: weight * at(this.value, k, column),
      coloured: this.result.name,
    }));
  }

  done(): Partial<Frame> {
    return {
      blank: this.blank(true),
      lit: [
        { panel: this.weights.name, box: rowOf(this.row, this.weights.shape[1]), ink: "query", strong: true },
        { panel: this.result.name, box: rowOf(this.row, this.width), ink: "attention", strong: true },
      ],
      work: { terms: this.terms(), count: this.keys.length, newest: 1, sum: null, inks: ["attention", "value"] },
      says: [
        [rowName(this.labels, "query", this.row), "query"],
        [this.keys.length ? ": the sum of the values, each times its weight" : ": all is hidden, the sum is 0"],
      ],
    };
  }

  rowBeat(done: number[], i: number): Beat {
    const { shape, name } = this.result;
    return {
      ms: rowMs(this.rows),
      frame: (share) => ({
        blank: {
          [name]: blankCells(
            shape,
            done,
            i,
            Array.from({ length: Math.round(share * this.width) }, (_, column) => column),
          ),
        },
        lit: [
          { panel: this.weights.name, box: rowOf(i, this.weights.shape[1]), ink: "query" },
          { panel: name, box: rowOf(i, this.width), ink: "attention" },
        ],
        says: [[rowName(this.labels, "query", i), "query"], [": the same way"]],
      }),
    };
  }
}
