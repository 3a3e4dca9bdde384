// Values computed once from a matrix's numbers, and its text alternative.

import { CELL_NUMBERS } from "../core/constants.ts";

export type Seen = Pick<CompletePanel, "z" | "gaps" | "seen" | "largest">;

const known: WeakMap<Float32Array, Seen> = new WeakMap();

/** A panel with the values for its drawing that are computed from its numbers. */
export function complete(panel: Panel): CompletePanel {
  const found = known.get(panel.data) ?? lookAt(panel.data, panel.shape);
  known.set(panel.data, found);
  return { ...panel, ...found };
}

function lookAt(data: Float32Array, [rows, cols]: [number, number]): Seen {
  const z = Array.from({ length: rows }, (_, i) => data.subarray(i * cols, (i + 1) * cols));
  let [low, high, gaps] = [Infinity, -Infinity, false];
  for (let n = 0; n < data.length; n += 1) {
    const x = data[n];
    if (x < low) low = x;
    if (x > high) high = x;
    if (x !== x) gaps = true; // NaN
  }
  if (high < low) return { z, gaps, seen: null, largest: 0 };
  return { z, gaps, seen: [low, high], largest: Math.max(Math.abs(low), Math.abs(high)) };
}

export const describe = ({ title, shape: [rows, cols] }: Panel) => `${title}, ${rows} rows by ${cols} columns`;

/** What stands before the numbers at the upper and the lower end of a colour bar: those beyond have its last colour. */
export function signsOf({ seen, low, high }: CompletePanel) {
  const [smallest, largest] = seen ?? [0, 0];
  const { beyond } = CELL_NUMBERS;
  return [largest > beyond * high ? "≥" : "", smallest < beyond * low ? "≤" : ""];
}
