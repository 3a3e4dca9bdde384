// The labels of tokens beside the lines: measured once, and shortened to the available width.

import { shorten } from "../board/layout.ts";
import { AXIS_TITLES } from "../core/constants.ts";

const LONG = 80; // characters from which on a label is not measured: it is too wide anyway

/** The widest label of each side in px; in a vertical layout the sides' names need room as well. */
export function longestOf(labels: string[][], widthOf: WidthOf, vertical: boolean) {
  return labels.map((own, side) => {
    const longest = own.reduce((most, label) => Math.max(most, label.length > LONG ? Infinity : widthOf(label)), 0);
    return Math.max(longest, vertical ? widthOf(AXIS_TITLES[side ? "key" : "query"]) + 8 : 0);
  });
}

/** Gives a token as it is written: worked out once, when it first comes into view. @param room px */
export function shortener(labels: string[][], room: number[], widthOf: WidthOf): (side: number, i: number) => string {
  const known: string[][] = [[], []];
  return (side, i) => (known[side][i] ??= shorten(labels[side][i], Math.ceil(room[side]), widthOf));
}
