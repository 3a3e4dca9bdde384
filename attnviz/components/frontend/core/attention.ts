// Attention from query, key and value: the browser's one definition. Sums run in double precision, and only results
// are rounded to float32. Pure functions, no DOM.

/** Above this, exp(score) may overflow, so the row's maximum is subtracted first. */
const LARGEST_EXPONENT = 80;

export type Softmax = {
  exponentials: Float64Array;
  weights: Float64Array;
  shift: number;
  /** of all exponentials, the sink's among them */
  sum: number;
  allHidden: boolean;
  /** a sink's exponential, and its share of the row; null where there is none */
  sink: { exponential: number; share: number } | null;
};
/** A row of attention, number by number over the keys. */
export type AttentionRow = Record<"scores" | "scaled" | "capped" | "biased" | "masked", Float64Array> & Softmax;
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

/** What scores are multiplied by, and what a mask fills into hidden cells: null for −∞; and into which matrix. */
type Scaling = Pick<AttentionHeader, "scale" | "mask_value" | "mask_fills" | "cap">;

/** A scaled score under a soft cap: between −cap and cap; without one, as it is. */
export const softCap = (scaled: number, cap?: number) => (cap ? cap * Math.tanh(scaled / cap) : scaled);

/**
 * What a hidden cell holds: −∞, or the number that a mask fills into scaled scores, or into scores before the scaling.
 */
export function hiddenValue({ mask_value: value, mask_fills: fills, scale, cap }: Scaling) {
  if (value === null) return -Infinity;
  return fills === "scores" ? softCap(value * scale, cap) : value;
}

/**
 * The softmax of one row. A row whose cells are all hidden has zeros.
 * @param score of a sink, which takes part like one more key; null where there is none
 */
export function softmax(masked: Float64Array, score: number | null = null): Softmax {
  // Plain loops: for long texts `map` and `reduce` with functions take several times as long.
  const count = masked.length;
  let max = -Infinity;
  for (let k = 0; k < count; k += 1) if (masked[k] > max) max = masked[k];
  const allHidden = max === -Infinity;
  if (score !== null && score > max) max = score;
  // Without overflow the textbook formula is shown unchanged. The shift changes numerator and denominator, but not
  // the quotient.
  const shift = max !== -Infinity && Math.abs(max) > LARGEST_EXPONENT ? max : 0;
  const exponentials = new Float64Array(count);
  const weights = new Float64Array(count);
  let sum = 0;
  for (let k = 0; k < count; k += 1) sum += exponentials[k] = Math.exp(masked[k] - shift);
  const ofSink = score === null ? 0 : Math.exp(score - shift);
  sum += ofSink;
  for (let k = 0; k < count; k += 1) weights[k] = allHidden ? 0 : exponentials[k] / sum;
  const sink = score === null ? null : { exponential: ofSink, share: ofSink / sum };
  return { exponentials, weights, shift, sum, allHidden, sink };
}

/**
 * One row of the head's output: Σⱼ weight·vⱼ.
 * @param weights NaN of a hidden key, which counts as 0
 * @param width of a value
 */
export function weighted(weights: NumberList, value: Numbers, width: number) {
  const output = new Float64Array(width);
  for (let k = 0; k < weights.length; k += 1) {
    if (!weights[k]) continue;
    for (let d = 0; d < width; d += 1) output[d] += weights[k] * value[k * width + d];
  }
  return output;
}

/** The arithmetic of one head, row by row and cell by cell. */
export class Attention<Header extends Scaling & { mask: string } = AttentionHeader> {
  header: Header;
  scores: Float64Array | null;
  operands: { query: Numbers; key: Numbers } | null;
  value: Numbers;
  mask: MaskCells;
  /** the score of a sink for each query; null where there is none */
  sinks: Numbers | null;
  /** what is added to the capped scores, (Tq · Tk); null where nothing is */
  positionBias: Numbers | null;
  keys: number;
  queries: number;
  size: number;
  valueSize: number;
  kept: { q: number; row: AttentionRow; output: Float64Array | null } | null = null;

  /**
   * @param arrays query and key, without which every score is 0; value, without which there is no output; and a mask
   * that is an array; the scores of a sink; and a position bias
   * @param scores all of them, if they are known already
   */
  constructor(header: Header, arrays: Partial<Arrays>, scores: Float64Array | null = null) {
    const { query, key, value, mask, sinks } = arrays;
    this.header = header;
    this.scores = scores;
    this.operands = query && key ? { query: query.data, key: key.data } : null;
    this.value = value?.data ?? new Float32Array();
    this.mask = header.mask === "causal" ? "causal" : (mask?.data ?? null);
    this.sinks = sinks?.data ?? null;
    this.positionBias = arrays.position_bias?.data ?? null;
    this.keys = (key ?? value)?.shape[0] ?? 0;
    this.queries = query?.shape[0] ?? this.keys;
    this.size = query?.shape[1] ?? 0; // of queries and keys, D
    this.valueSize = value?.shape[1] ?? 0;
  }

  /** The mask's summand for cell (q, k): 0, any number, or −∞ if it hides the cell. */
  bias(q: number, k: number): number {
    return maskTerm(this.mask, q, k, this.keys);
  }

  score(q: number, k: number) {
    if (this.scores) return this.scores[q * this.keys + k];
    return this.operands ? dot(this.operands.query, q, this.operands.key, k, this.size) : 0;
  }

  /** Row q from scores to weights. The last row is cached. */
  row(q: number) {
    return this.keptRow(q).row;
  }

  keptRow(q: number) {
    if (this.kept?.q !== q) this.kept = { q, row: this.computeRow(q), output: null };
    return this.kept;
  }

  computeRow(q: number): AttentionRow {
    const { scale, cap } = this.header;
    const hidden = hiddenValue(this.header);
    const [scores, scaled, masked] = [0, 1, 2].map(() => new Float64Array(this.keys));
    const capped = cap ? new Float64Array(this.keys) : scaled;
    const biased = this.positionBias ? new Float64Array(this.keys) : capped;
    for (let k = 0; k < this.keys; k += 1) {
      const bias = this.bias(q, k);
      scores[k] = this.score(q, k);
      scaled[k] = scores[k] * scale;
      if (cap) capped[k] = softCap(scaled[k], cap);
      if (this.positionBias) biased[k] = capped[k] + this.positionBias[q * this.keys + k];
      masked[k] = bias === -Infinity ? hidden : biased[k] + bias;
    }
    return { scores, scaled, capped, biased, masked, ...softmax(masked, this.sinks?.[q] ?? null) };
  }

  /** Row q of the head's output: Σⱼ weight·vⱼ. */
  output(q: number) {
    const kept = this.keptRow(q);
    kept.output ??= weighted(kept.row.weights, this.value, this.valueSize);
    return kept.output;
  }

  /** Every step of one cell. */
  cell(q: number, k: number) {
    const row = this.row(q);
    return {
      ...row,
      score: row.scores[k],
      scaled: row.scaled[k],
      capped: row.capped[k],
      biased: row.biased[k],
      bias: this.bias(q, k),
      masked: row.masked[k],
      exponential: row.exponentials[k],
      weight: row.weights[k],
    };
  }

  has(q: number | null, k: number | null) {
    return q !== null && k !== null && q < this.queries && k < this.keys;
  }
}
