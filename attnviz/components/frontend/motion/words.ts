// What is said of a moment of a step, and how long its parts take.

import { fixed, index, quoted } from "../core/format.ts";

const BY_ROWS = 40; // rows or columns of a result from which on it is filled by rows
const ALL = 7000; // ms at most for all rows but the example's
const SLOWEST_ROW = 700; // ms

/** Whether a matrix is so large that it is filled by rows. */
export const isByRows = ([rows, columns]: [number, number]) => Math.max(rows, columns) >= BY_ROWS;

/** How long one of the other rows takes, in ms. */
export const rowMs = (rows: number) => Math.min(SLOWEST_ROW, ALL / Math.max(1, rows - 1));

/** How long each of `count` like things takes, in ms: the first few slowly, all others together `rest`. */
export function paceOf(
  n: number,
  count: number,
  { slow, few = 4, rest = 3000 }: { slow: number; few?: number; rest?: number },
) {
  if (n < few || count <= 2 * few) return slow;
  return Math.min(slow, rest / (count - few));
}

/** The parts of a step in which its example is computed. */
export const ofExample = (beats: Beat[]): Beat[] => beats.map((beat) => ({ ...beat, isExample: true }));

/** From 0 to 1, slowly at both ends. */
export const eased = (share: number) => share * share * (3 - 2 * share);

/** How far a part of a beat has come that lasts from one share of it to another. */
export const within = (share: number, [from, to]: Span) => Math.min(1, Math.max(0, (share - from) / (to - from)));

export function panelOf(name: string, { panels }: BoardPicture) {
  return panels.find((panel) => panel.name === name) ?? null;
}

export const at = ({ data, shape }: Panel, i: number, j: number) => data[i * shape[1] + j];

/** The numbers of a row. */
export const rowIn = ({ data, shape: [, columns] }: Panel, i: number) => data.subarray(i * columns, (i + 1) * columns);

/** A row of a matrix, of whichever kind its rows are: `row 3 “cross”`. */
export const rowName = (labels: Labels, kind: string, i: number) => placeName(labels, kind, i, "row");

/** A column of a matrix: `column 3 “cross”`, `dim 5`. */
export const columnName = (labels: Labels, kind: string, i: number) => placeName(labels, kind, i, "column");

function placeName(labels: Labels, kind: string, i: number, side: "row" | "column") {
  const label = labels[kind]?.[i];
  return label === undefined ? index(kind, i) : `${side} ${i} ${quoted(label)}`;
}

/** A number as it is said: enough decimals to tell it from 0. */
export const shown = (x: number, digits = decimalsOf([x])) => fixed(x, digits);

/** The same inside of a sum or product. */
export function factor(x: number, digits?: number) {
  const text = shown(x, digits);
  return text.startsWith("−") ? `(${text})` : text;
}

/** How many decimals tell the largest of some numbers from 0. */
export function decimalsOf(numbers: number[]) {
  const largest = Math.max(0, ...numbers.map((x) => (Number.isFinite(x) ? Math.abs(x) : 0)));
  return largest === 0 || largest >= 0.1 ? 2 : largest >= 0.01 ? 3 : 4;
}
