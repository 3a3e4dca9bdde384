// The measures of a head's norms: those of attnviz/measures, of each row of norms ‖α·f(x)‖ divided by its sum.

const OPENING = ["[CLS]", "<s>", "<cls>"];
const CLOSING = ["[SEP]", "</s>", "<sep>"];
const PUNCTUATION = /^\s*\p{P}+\s*$/u;

/** @typedef {{ row: Float64Array, i: number, keys: string[] }} Shares a row that sums to 1, and the keys' labels */

/** @param {(label: string, j: number) => boolean} isMeant @returns {(shares: Shares) => number} */
const on =
  (isMeant) =>
  ({ row, keys }) =>
    row.reduce((sum, share, j) => (isMeant(keys[j], j) ? sum + share : sum), 0);

/** @param {number} offset @returns {(shares: Shares) => number} NaN where there is no such key */
const at =
  (offset) =>
  ({ row, i }) =>
    row[i + offset] ?? NaN;

/** @type {Record<string, (shares: Shares) => number>} by the names that the measures of weights have */
const OF_ROW = {
  entropy: ({ row }) => row.reduce((sum, share) => (share > 0 ? sum - share * Math.log2(share) : sum), 0),
  distance: ({ row, i }) => row.reduce((sum, share, j) => sum + share * Math.abs(i - j), 0),
  previous: at(-1),
  next: at(1),
  same: at(0),
  first: on((_, j) => j === 0),
  cls: on((label) => OPENING.includes(label)),
  sep: on((label) => CLOSING.includes(label)),
  punctuation: on((label) => PUNCTUATION.test(label)),
};

/**
 * The mean of a measure over the rows of norms that are not all 0; NaN cells are hidden.
 * @param {string} name of the measure @param {Float32Array} norms (queries, keys) @param {string[]} keys their labels
 */
export function normMeasure(name, norms, keys) {
  let [sum, count] = [0, 0];
  for (let i = 0; i * keys.length < norms.length; i += 1) {
    const own = Float64Array.from(norms.subarray(i * keys.length, (i + 1) * keys.length), (norm) => norm || 0);
    const whole = own.reduce((a, b) => a + b, 0);
    const value = whole > 0 ? OF_ROW[name]({ row: own.map((norm) => norm / whole), i, keys }) : NaN;
    if (Number.isNaN(value)) continue;
    sum += value;
    count += 1;
  }
  return sum / count;
}
