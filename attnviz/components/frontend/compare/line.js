// The line under the picture: the hovered or pinned cell, its numbers in A and B, and their difference.

import { result, span } from "../core/dom.js";
import { fixed, number, operand } from "../core/format.js";
import { leastType } from "../core/type.js";

const HALL = 2; // decimals of what a hall reads

/**
 * Why a cell has no number on one side, or null where it may have one.
 * @param {CompareHeader} header @param {string} side @param {{ i: number, j: number }} at
 */
export function missing({ own }, side, { i, j }) {
  const [row, column] = [own[side].query[i] === null, own[side].key[j] === null];
  if (row && column) return "has neither";
  if (row) return "has no such row";
  return column ? "has no such column" : null;
}

/**
 * The nodes of the line for the cell `at`; `numbers` are that cell's and its row's, NaN where there is none.
 * @param {CompareHeader} header @param {{ i: number, j: number }} at @param {Record<string, number>} numbers
 */
export function parts(header, at, numbers) {
  const { labels } = header;
  const nodes = [
    span("place", span("query", `${at.i} ${labels.query[at.i]}`), " → ", span("key", `${at.j} ${labels.key[at.j]}`)),
    span("sum", ...sum(header, at, numbers)),
  ];
  if (!Number.isNaN(numbers.divergence)) {
    nodes.push(span("quiet", `the two rows: ${read(numbers.divergence)} bits apart`));
  }
  if (header.ranges.difference) nodes.push(span("quiet", `each to ±${precision(header)}`));
  return nodes;
}

/**
 * The nodes of the line for a whole row.
 * @param {CompareHeader} header @param {number} i @param {Record<string, number>} numbers
 */
export function rowParts({ labels }, i, { divergence }) {
  const place = span("place", span("query", `${i} ${labels.query[i]}`));
  if (Number.isNaN(divergence)) return [place, span("quiet", "A and B do not both have weights here")];
  return [
    place,
    span("sum", "Jensen-Shannon divergence of A's row and B's: ", shown("divergence", divergence), " bits"),
  ];
}

/**
 * `A 0.1234 − B 0.0345 = 0.0889`, or what each side has instead of a number.
 * @param {CompareHeader} header @param {{ i: number, j: number }} at @param {Record<string, number>} numbers
 */
function sum(header, at, numbers) {
  /** @param {string} name */
  const write = (name) => {
    const x = numbers[name];
    if (!Number.isNaN(x)) return shown(name, x);
    return span("quiet", missing(header, name, at) ?? header.hidden ?? "no number");
  };
  const [a, b] = [write("a"), write("b")];
  const { difference } = numbers;
  if (Number.isNaN(difference)) return [span("side", "A "), a, " · ", span("side", "B "), b];
  return [span("side", "A "), a, " − ", span("side", "B "), b, " = ", shown("difference", difference)];
}

/** @param {string} name @param {number} x */
const shown = (name, x) => result(x, name === "b" ? bracketed(x) : read(x), { title: String(x), "data-of": name });

/** A number for who reads it: in lecture mode, from the last row. @param {number} x */
const read = (x) => (leastType() ? fixed(x, HALL) : number(x));

/** @param {number} x */
const bracketed = (x) => (leastType() ? read(x).replace(/^−.*/, "($&)") : operand(x, 4));

/**
 * How far a number that was sent in 16 bits may be from its float32.
 * @param {CompareHeader} header
 */
function precision({ ranges }) {
  const widest = Math.max(...Object.values(ranges).map((range) => (range ? range[1] - range[0] : 0)));
  return number(widest / 131068, 1);
}
