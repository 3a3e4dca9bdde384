// The measures of a head's norms: those of attnviz/measures, of each row of norms ‖α·f(x)‖ divided by its sum.

import { sumOf } from "../core/arithmetic.ts";

/** a row that sums to 1 */
export type Shares = { row: Float64Array; i: number };

/** @returns NaN where there is no such key */
const at =
  (offset: number): ((shares: Shares) => number) =>
  ({ row, i }) =>
    row[i + offset] ?? NaN;

/** by the names of measures; others sum keys */
const OF_ROW: Record<string, (shares: Shares) => number> = {
  entropy: ({ row }) => row.reduce((sum, share) => (share > 0 ? sum - share * Math.log2(share) : sum), 0),
  distance: ({ row, i }) => row.reduce((sum, share, j) => sum + share * Math.abs(i - j), 0),
  previous: at(-1),
  next: at(1),
  same: at(0),
};

/**
 * The mean of a measure over the rows of norms that are not all 0; NaN cells are hidden.
 * @param norms (queries, keys)
 * @param columns the number of keys
 */
export function normMeasure({ name, keys }: Pick<Measure, "name" | "keys">, norms: Float32Array, columns: number) {
  const ofRow = OF_ROW[name] ?? (({ row }) => keys.reduce((sum, j) => sum + row[j], 0));
  let [sum, count] = [0, 0];
  for (let i = 0; i * columns < norms.length; i += 1) {
    const own = Float64Array.from(norms.subarray(i * columns, (i + 1) * columns), (norm) => norm || 0);
    const whole = sumOf(own);
    const value = whole > 0 ? ofRow({ row: own.map((norm) => norm / whole), i }) : NaN;
    if (Number.isNaN(value)) continue;
    sum += value;
    count += 1;
  }
  return sum / count;
}
