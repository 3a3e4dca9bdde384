// Attention from query, key and value: the browser's one definition. Sums run in double precision, and only results
// are rounded to float32. Pure functions, no DOM.

/** Above this, exp(score) may overflow, so the row's maximum is subtracted first. */
const LARGEST_EXPONENT = 80;

export type Softmax = { weights: Float64Array; shift: number; sum: number; allHidden: boolean };
export type Matrix = { data: Float32Array; shape: number[] };
/** "causal", or numbers (Tq, Tk): bytes are 1 where a query may look, others are added to the scaled scores. */
export type MaskCells = "causal" | Numbers | null;

/** The product of row i of the queries with row j of the keys, both of width D. */
export function dot(query: Numbers, i: number, key: Numbers, j: number, width: number) {
  let sum = 0;
  for (let d = 0; d < width; d += 1) sum += query[i * width + d] * key[j * width + d];
  return sum;
}

/**
 * What a mask adds to cell (q, k): 0, any number, or −∞ where it hides the cell, which then has its `hiddenValue`.
 * @param keys how many there are
 */
export function maskTerm(mask: MaskCells, q: number, k: number, keys: number) {
  if (mask === null) return 0;
  if (mask === "causal") return k > q ? -Infinity : 0;
  const cell = mask[q * keys + k];
  if (mask instanceof Uint8Array) return cell === 1 ? 0 : -Infinity;
  return cell;
}

/**
 * What a hidden cell holds: −∞, or the number that a mask fills into scaled scores, or into scores before the scaling.
 */
export function hiddenValue({
  mask_value: value,
  mask_fills: fills,
  scale,
}: {
  mask_value: number | null;
  mask_fills: string;
  scale: number;
}) {
  if (value === null) return -Infinity;
  return fills === "scores" ? value * scale : value;
}

/** The softmax of one row. A row whose cells are all hidden has zeros. */
export function softmax(masked: Float64Array): Softmax {
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

/** One row of the head's output: Σⱼ weight·vⱼ. @param width of a value */
export function weighted(weights: Float64Array, value: Numbers, width: number) {
  const output = new Float64Array(width);
  for (let k = 0; k < weights.length; k += 1) {
    if (weights[k] === 0) continue;
    for (let d = 0; d < width; d += 1) output[d] += weights[k] * value[k * width + d];
  }
  return output;
}
