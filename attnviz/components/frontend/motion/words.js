// What is said of a moment of a step, and how long its parts take.

import { fixed, index } from "../core/format.js";

const BY_ROWS = 40; // rows or columns of a result from which on it is filled by rows
const ALL = 7000; // ms at most for all rows but the example's
const SLOWEST_ROW = 700; // ms

/** Whether a matrix is so large that it is filled by rows. @param {[number, number]} shape */
export const isByRows = ([rows, columns]) => Math.max(rows, columns) >= BY_ROWS;

/** How long one of the other rows takes, in ms. @param {number} rows */
export const rowMs = (rows) => Math.min(SLOWEST_ROW, ALL / Math.max(1, rows - 1));

/**
 * How long each of `count` like things takes, in ms: the first few slowly, all others together `rest`.
 * @param {number} n @param {number} count @param {{ slow: number, few?: number, rest?: number }} pace
 */
export function paceOf(n, count, { slow, few = 4, rest = 3000 }) {
  if (n < few || count <= 2 * few) return slow;
  return Math.min(slow, rest / (count - few));
}

/** From 0 to 1, slowly at both ends. @param {number} share */
export const eased = (share) => share * share * (3 - 2 * share);

/**
 * How far a part of a beat has come that lasts from one share of it to another.
 * @param {number} share @param {Span} span
 */
export const within = (share, [from, to]) => Math.min(1, Math.max(0, (share - from) / (to - from)));

/** @param {string} name @param {BoardPicture} picture */
export function panelOf(name, { panels }) {
  return panels.find((panel) => panel.name === name) ?? null;
}

/** @param {Panel} panel @param {number} i @param {number} j */
export const at = ({ data, shape }, i, j) => data[i * shape[1] + j];

/**
 * A row of a matrix, of whichever kind its rows are: `row 3 “cross”`.
 * @param {Labels} labels @param {string} kind @param {number} i
 */
export const rowName = (labels, kind, i) => placeName(labels, kind, i, "row");

/**
 * A column of a matrix: `column 3 “cross”`, `dim 5`.
 * @param {Labels} labels @param {string} kind @param {number} i
 */
export const columnName = (labels, kind, i) => placeName(labels, kind, i, "column");

/** @param {Labels} labels @param {string} kind @param {number} i @param {"row" | "column"} side */
function placeName(labels, kind, i, side) {
  const label = labels[kind]?.[i];
  return label === undefined ? index(kind, i) : `${side} ${i} “${label}”`;
}

/** A number as it is said: enough decimals to tell it from 0. @param {number} x */
export const shown = (x) => fixed(x, decimalsOf([x]));

/** The same inside of a sum or product. @param {number} x */
export const factor = (x) => (shown(x).startsWith("−") ? `(${shown(x)})` : shown(x));

/** How many decimals tell the largest of some numbers from 0. @param {number[]} numbers */
export function decimalsOf(numbers) {
  const largest = Math.max(0, ...numbers.map((x) => (Number.isFinite(x) ? Math.abs(x) : 0)));
  return largest === 0 || largest >= 0.1 ? 2 : largest >= 0.01 ? 3 : 4;
}
