// Attention from query, key and value: the browser's one definition. Sums run in double precision, and only results
// are rounded to float32. Pure functions, no DOM.

/** Above this, exp(score) may overflow, so the row's maximum is subtracted first. */
const LARGEST_EXPONENT = 80;

/** @typedef {{ weights: Float64Array, shift: number, sum: number, allHidden: boolean }} Softmax */
/** @typedef {{ data: Float32Array, shape: number[] }} Matrix */
/**
 * "causal", or numbers (Tq, Tk): bytes are 1 where a query may look, others are added to the scaled scores.
 * @typedef {"causal" | Numbers | null} MaskCells
 */

/**
 * The product of row i of the queries with row j of the keys, both of width D.
 * @param {Numbers} query @param {number} i @param {Numbers} key @param {number} j @param {number} width
 */
export function dot(query, i, key, j, width) {
  let sum = 0;
  for (let d = 0; d < width; d += 1) sum += query[i * width + d] * key[j * width + d];
  return sum;
}

/**
 * What a mask adds to cell (q, k): 0, any number, or −∞ where it hides the cell, which then has its `hiddenValue`.
 * @param {MaskCells} mask @param {number} q @param {number} k @param {number} keys how many there are
 */
export function maskTerm(mask, q, k, keys) {
  if (mask === null) return 0;
  if (mask === "causal") return k > q ? -Infinity : 0;
  const cell = mask[q * keys + k];
  if (mask instanceof Uint8Array) return cell === 1 ? 0 : -Infinity;
  return cell;
}

/**
 * What a hidden cell holds: −∞, or the number that a mask fills into scaled scores, or into scores before the scaling.
 * @param {{ mask_value: number | null, mask_fills: string, scale: number }} header
 */
export function hiddenValue({ mask_value: value, mask_fills: fills, scale }) {
  if (value === null) return -Infinity;
  return fills === "scores" ? value * scale : value;
}

/**
 * The softmax of one row. A row whose cells are all hidden has zeros.
 * @param {Float64Array} masked
 * @returns {Softmax}
 */
export function softmax(masked) {
  // Plain loops: for long texts `map` and `reduce` with functions take several times as long.
  const count = masked.length;
  let max = -Infinity;
  for (let k = 0; k < count; k += 1) if (masked[k] > max) max = masked[k];
  const allHidden = max === -Infinity;
  // Without overflow the textbook formula is shown unchanged. The shift changes numerator and denominator, but not
  // the quotient.
  const shift = !allHidden && Math.abs(max) > LARGEST_EXPONENT ? max : 0;
  const weights = new Float64Array(count);
  let sum = 0;
  for (let k = 0; k < count; k += 1) sum += weights[k] = Math.exp(masked[k] - shift);
  for (let k = 0; k < count; k += 1) weights[k] = allHidden ? 0 : weights[k] / sum;
  return { weights, shift, sum, allHidden };
}

/**
 * One row of the head's output: Σⱼ weight·vⱼ.
 * @param {Float64Array} weights @param {Numbers} value @param {number} width of a value
 */
export function weighted(weights, value, width) {
  const output = new Float64Array(width);
  for (let k = 0; k < weights.length; k += 1) {
    if (weights[k] === 0) continue;
    for (let d = 0; d < width; d += 1) output[d] += weights[k] * value[k * width + d];
  }
  return output;
}
