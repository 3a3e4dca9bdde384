// The labels of tokens beside the lines: measured once, and shortened to the available width.

import { shorten } from "../board/layout.js";
import { NAMES } from "./tokens.js";

const LONG = 80; // characters from which on a label is not measured: it is too wide anyway

/**
 * The widest label of each side in px; in a vertical layout the sides' names need room as well.
 * @param {string[][]} labels @param {WidthOf} widthOf @param {boolean} vertical
 */
export function longestOf(labels, widthOf, vertical) {
  return labels.map((own, side) => {
    const longest = own.reduce((most, label) => Math.max(most, label.length > LONG ? Infinity : widthOf(label)), 0);
    return Math.max(longest, vertical ? widthOf(NAMES[side]) + 8 : 0);
  });
}

/**
 * Gives a token as it is written: worked out once, when it first comes into view.
 * @param {string[][]} labels @param {number[]} room px @param {WidthOf} widthOf
 * @returns {(side: number, i: number) => string}
 */
export function shortener(labels, room, widthOf) {
  /** @type {string[][]} */
  const known = [[], []];
  return (side, i) => (known[side][i] ??= shorten(labels[side][i], Math.ceil(room[side]), widthOf));
}
