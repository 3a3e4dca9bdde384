// A product of two matrices: one row meets one column, their products appear and add up into a cell; then the row; then
// all. Where a step has several products, as Q, K and V, the first one is shown in detail.

import { known, runningSums } from "../core/arithmetic.ts";
import { index, quantity } from "../core/format.ts";
import { blankCells, cell, columnOf, firstOf, rowOf } from "./order.ts";
import {
  at,
  columnName,
  eased,
  factor,
  isByRows,
  ofExample,
  paceOf,
  panelOf,
  rowMs,
  rowName,
  shown,
  within,
} from "./words.ts";

const TURN = 2400; // ms
const MEET = 1000;
const TERM = { slow: 650, few: 8, rest: 3000 };
const DONE = 700;
const NEXT = { slow: 480, few: 16, rest: 2000 };
const SWEEP = 1100; // ms for a row at once

/** One product of a picture: its three matrices, and the vector that is added. */
export type Parts = { left: Panel; right: Panel; result: Panel; bias: number[] | null };

export function productBeats({ picture, example }: Played): Beat[] {
  const all = Object.entries(picture.products ?? {}).flatMap(([name, made]) =>
    "left" in made ? partsOf(name, made, picture) : [],
  );
  if (!all.length || all.some(({ left }) => left.shape[0] === 0)) return [];
  return new ProductMotion(all, picture.labels, example).beats();
}

function partsOf(name: string, { left, right, bias = null }: ProductOf, picture: BoardPicture): Parts[] {
  const [a, b, result] = [left, right, name].map((one) => panelOf(one, picture));
  return a && b && result && a.shape[1] ? [{ left: a, right: b, result, bias }] : [];
}

class ProductMotion {
  all: Parts[];
  labels: Labels;
  first: Parts;
  row: number;
  column: number;
  byRows: boolean;
  depth: number;
  inks: [RoleInk, RoleInk];

  constructor(all: Parts[], labels: Labels, { q, k }: Pair) {
    this.all = all;
    this.labels = labels;
    this.first = all[0];
    const { left, right, result } = this.first;
    const [rows, columns] = result.shape;
    this.row = Math.min(q ?? 0, rows - 1);
    this.column = Math.min(result.cols === "key" ? (k ?? 0) : 0, columns - 1);
    this.byRows = isByRows(result.shape) || all.length > 1;
    this.depth = left.shape[1];
    this.inks = [left.role ?? "text", right.role ?? "text"];
  }

  beats(): Beat[] {
    const isTurned = this.first.right.name === "key_t";
    return [
      ...ofExample([...(isTurned ? [this.turning()] : []), this.meeting(), ...this.adding()]),
      ...(this.byRows ? this.sweeping() : this.sliding()),
      ...this.others(),
    ];
  }

  // ---- what several beats have in common

  /** Nothing is filled but some cells of the example's row. @param filled of the first product */
  blank(filled: Iterable<number> = []) {
    return Object.fromEntries(
      this.all.map(({ result }, n) => [result.name, blankCells(result.shape, [], this.row, n ? [] : filled)]),
    );
  }

  /** The row and the column that a cell is computed from. */
  lit({ left, right, result }: Parts, i: number, j: number) {
    const lit: LitCells[] = [
      { panel: left.name, box: rowOf(i, left.shape[1]), ink: left.role ?? "text" },
      { panel: right.name, box: columnOf(j, right.shape[0]), ink: right.role ?? "text" },
      { panel: result.name, box: cell(i, j), ink: "attention", strong: true },
    ];
    return lit;
  }

  terms(i: number, j: number): Term[] {
    const { left, right, bias } = this.first;
    const made = Array.from({ length: this.depth }, (_, c) => {
      const [a, b] = [at(left, i, c), at(right, c, j)];
      return { left: known(a), right: b, product: known(a) * b };
    });
    const added = bias ? [{ left: null, right: null, product: bias[j], label: "bias" }] : [];
    return [...made, ...added];
  }

  /**
   * The row of the left matrix, which turns upright in the empty corner: there it stands beside the rows of the right
   * matrix, and on none of its columns.
   */
  upright(along: number) {
    const { left, right } = this.first;
    return {
      upright: {
        beside: right.name,
        name: `${quantity(left.name)}[${index(left.rows, this.row)}, ·]`,
        ink: this.inks[0],
      },
      flights: Array.from({ length: this.depth }, (_, c) => ({
        from: { panel: left.name, box: cell(this.row, c) },
        to: { panel: right.name, box: cell(c, 0), inCorner: true },
        along,
        value: at(left, this.row, c),
        coloured: left.name,
      })),
    };
  }

  named(i: number, j: number): Said[] {
    const { left, right } = this.first;
    return [
      [`${rowName(this.labels, left.rows, i)} of ${quantity(left.name)}`, this.inks[0]],
      [" · "],
      [`${columnName(this.labels, right.cols, j)} of ${quantity(right.name)}`, this.inks[1]],
    ];
  }

  // ---- the beats

  turning(): Beat {
    const { right, result } = this.first;
    return {
      ms: TURN,
      frame: (share) => ({
        blank: this.blank(),
        turn: { panel: right.name, over: result.name, title: "K key", along: within(share, [0.15, 0.95]) },
        says: [["Each row of K becomes a column of Kᵀ", "key"]],
      }),
    };
  }

  meeting(): Beat {
    const { left, right } = this.first;
    return {
      ms: MEET,
      frame: (share) => ({
        blank: this.blank(),
        lit: this.lit(this.first, this.row, this.column),
        veiled: [left.name, right.name],
        ...this.upright(eased(share)),
        says: this.named(this.row, this.column),
      }),
    };
  }

  /** One product after the other. */
  adding(): Beat[] {
    const { left, right, result } = this.first;
    const [i, j] = [this.row, this.column];
    const all = this.terms(i, j);
    const sums = runningSums(all.map(({ product }) => product));
    const beats = all.map((term, n) => ({
      ms: paceOf(n, all.length, TERM),
      frame: (share: number) => {
        const count = share >= 0.6 ? n + 1 : n;
        const sum = sums[count];
        return {
          blank: this.blank(n || count ? [j] : []),
          lit: [...this.lit(this.first, i, j), ...(n < this.depth ? pairOf(left, right, i, j, n, this.inks) : [])],
          veiled: [left.name, right.name],
          ...this.upright(1),
          written: n || count ? [{ panel: result.name, row: i, column: j, value: sum }] : [],
          stands: { [result.name]: { title: `${result.title} · sum so far` } },
          work: { terms: all, count: n + 1, newest: within(share, [0, 0.4]), sum, inks: this.inks },
          says: this.saidOf(term, n, all.length),
        };
      },
    }));
    return [...beats, { ms: DONE, frame: () => this.done(i, j, sums[all.length]) }];
  }

  saidOf({ left, right, product }: Term, n: number, count: number): Said[] {
    if (left === null || right === null) return [[`and the bias: ${shown(product)}`]];
    const factors = [[factor(left), this.inks[0]], [" × "], [factor(right), this.inks[1]]] as Said[];
    return [[`product ${n + 1} of ${count}: `], ...factors, [` = ${shown(product)}`]];
  }

  /** The example's cell, with all its products. */
  done(i: number, j: number, value: number) {
    return {
      ...this.still(i, j, value),
      ...this.upright(1),
      blank: this.blank([j]),
    };
  }

  /** A cell that is computed, with all its products. */
  still(i: number, j: number, sum: number) {
    const { left, right } = this.first;
    const terms = this.terms(i, j);
    return {
      lit: this.lit(this.first, i, j),
      veiled: [left.name, right.name],
      work: { terms, count: terms.length, newest: 1, sum, inks: this.inks },
      says: [...this.named(i, j), [` = ${shown(sum)}`, "attention"] as Said],
    };
  }

  /** The row meets one column after the other. */
  sliding(): Beat[] {
    const { result } = this.first;
    const order = firstOf(result.shape[1], this.column);
    return order.slice(1).map((j, n) => ({
      ms: paceOf(n, order.length, NEXT),
      frame: (share) => {
        const isThere = share >= 0.7;
        const sum = at(result, this.row, j);
        return {
          ...this.still(this.row, j, sum),
          ...(isThere ? {} : { says: this.named(this.row, j) }),
          ...this.upright(1),
          blank: this.blank(order.slice(0, isThere ? n + 2 : n + 1)),
        };
      },
    }));
  }

  /** The example's row of each product, at once. */
  sweeping(): Beat[] {
    return this.all.flatMap((parts, n) => {
      if (this.row >= parts.result.shape[0]) return []; // there may be fewer keys than queries
      const frame: Beat["frame"] = (share) => {
        const { result } = parts;
        const order = firstOf(result.shape[1], n ? 0 : this.column);
        const filled = order.slice(0, Math.max(n ? 0 : 1, Math.round(share * order.length)));
        const blank = Object.fromEntries(
          this.all.map((one, m) => [
            one.result.name,
            m < n
              ? blankCells(one.result.shape, [this.row])
              : blankCells(one.result.shape, [], this.row, m > n ? [] : filled),
          ]),
        );
        return {
          blank,
          lit: this.lit(parts, this.row, filled.at(-1) ?? 0),
          veiled: [parts.left.name, parts.right.name],
          says: [
            [`${rowName(this.labels, parts.left.rows, this.row)} of ${quantity(result.name)}: `],
            ["each cell the same way"],
          ],
        };
      };
      return [{ ms: SWEEP, frame }];
    });
  }

  /** All other rows, of a small matrix cell by cell. */
  others(): Beat[] {
    const [rows, columns] = this.first.result.shape;
    const longest = Math.max(...this.all.map(({ result }) => result.shape[0]));
    const order = firstOf(longest, this.row);
    const ms = rowMs(longest);
    return order.slice(1).flatMap((i, n) => {
      const done = order.slice(0, n + 1);
      if (this.byRows) return [{ ms, frame: (share: number) => this.rowFrame(done, i, share) }];
      return i < rows ? Array.from({ length: columns }, (_, j) => this.cellBeat(done, i, j, ms / columns)) : [];
    });
  }

  rowFrame(done: number[], i: number, share: number) {
    const blank = ({ result }: Parts): [string, CellBox[]] => {
      const filled = Array.from({ length: Math.round(share * result.shape[1]) }, (_, j) => j);
      return [result.name, blankCells(result.shape, done, i < result.shape[0] ? i : null, filled)];
    };
    const lit = this.all.flatMap(({ left, result }) => [
      ...(i < left.shape[0] ? [{ panel: left.name, box: rowOf(i, left.shape[1]), ink: left.role ?? "text" }] : []),
      ...(i < result.shape[0]
        ? [{ panel: result.name, box: rowOf(i, result.shape[1]), ink: result.role ?? "attention" }]
        : []),
    ]);
    return {
      blank: Object.fromEntries(this.all.map(blank)),
      lit: lit as LitCells[],
      says: [[`${rowName(this.labels, this.first.left.rows, i)}: the same way`]] as Said[],
    };
  }

  cellBeat(done: number[], i: number, j: number, ms: number): Beat {
    const { result } = this.first;
    const filled = Array.from({ length: j + 1 }, (_, column) => column);
    const blank = { [result.name]: blankCells(result.shape, done, i, filled) };
    const says = [["all other cells the same way"]] as Said[];
    return {
      ms,
      // A still has the arithmetic of its cell; in between it would only flicker.
      frame: (share) =>
        share === 1
          ? { ...this.still(i, j, at(result, i, j)), blank }
          : { lit: this.lit(this.first, i, j), blank, says },
    };
  }
}

/** The two cells of one product, the left one where it is and where it stands upright. */
function pairOf(left: Panel, right: Panel, i: number, j: number, c: number, inks: [RoleInk, RoleInk]): LitCells[] {
  return [
    { panel: left.name, box: cell(i, c), ink: inks[0], strong: true },
    { panel: right.name, box: cell(c, 0), ink: inks[0], strong: true, inCorner: true },
    { panel: right.name, box: cell(c, j), ink: inks[1], strong: true },
  ];
}
