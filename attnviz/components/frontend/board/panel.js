// Values computed once from a matrix's numbers, and its text alternative.

/** @typedef {Pick<CompletePanel, "z" | "gaps" | "seen" | "largest">} Seen */

/** @type {WeakMap<Float32Array, Seen>} */
const known = new WeakMap();

/**
 * A panel with the values for its drawing that are computed from its numbers.
 * @param {Panel} panel
 * @returns {CompletePanel}
 */
export function complete(panel) {
  const found = known.get(panel.data) ?? lookAt(panel.data, panel.shape);
  known.set(panel.data, found);
  return { ...panel, ...found };
}

/**
 * @param {Float32Array} data @param {[number, number]} shape
 * @returns {Seen}
 */
function lookAt(data, [rows, cols]) {
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

/** @param {Panel} panel */
export const describe = ({ title, shape: [rows, cols] }) => `${title}, ${rows} rows by ${cols} columns`;
