// The arithmetic of attention for one row and one cell, from the real operands. Pure functions, no DOM.

import { dot, hiddenValue, maskTerm, softmax, weighted } from "../core/attention.ts";
import type { MaskCells, Softmax } from "../core/attention.ts";

/** A row from scores to weights. */
export type RowSteps = { masked: Float64Array } & Softmax;

/** The arithmetic of one head. Sums run in double precision. */
export class Attention {
  header: AttentionHeader;
  operands: { query: Numbers; key: Numbers } | null;
  value: Numbers;
  mask: MaskCells;
  keys: number;
  queries: number;
  size: number;
  valueSize: number;
  kept: { q: number; row: RowSteps; output: Float64Array | null } | null;

  /** @param arrays value; query and key, without which every score is 0; and a mask that is an array */
  constructor(header: AttentionHeader, arrays: Arrays) {
    this.header = header;
    const { query, key, value } = arrays;
    this.operands = query && key ? { query: query.data, key: key.data } : null;
    this.value = value.data;
    this.mask = header.mask === "causal" ? "causal" : header.mask === "none" ? null : arrays.mask.data;
    this.keys = value.shape[0];
    this.queries = query?.shape[0] ?? this.keys;
    this.size = query?.shape[1] ?? 0; // of queries and keys, D
    this.valueSize = value.shape[1];
    this.kept = null;
  }

  /** The mask's summand for cell (q, k): 0, any number, or −∞ if it hides the cell. */
  bias(q: number, k: number): number {
    return maskTerm(this.mask, q, k, this.keys);
  }

  score(q: number, k: number) {
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

  computeRow(q: number): RowSteps {
    const masked = new Float64Array(this.keys);
    const hidden = hiddenValue(this.header);
    for (let k = 0; k < this.keys; k += 1) {
      const bias = this.bias(q, k);
      masked[k] = bias === -Infinity ? hidden : this.score(q, k) * this.header.scale + bias;
    }
    return { masked, ...softmax(masked) };
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
    const score = this.score(q, k);
    return {
      ...row,
      score,
      scaled: score * this.header.scale,
      bias: this.bias(q, k),
      masked: row.masked[k],
      exponential: Math.exp(row.masked[k] - row.shift),
      weight: row.weights[k],
    };
  }

  has(q: number | null, k: number | null) {
    return q !== null && k !== null && q < this.queries && k < this.keys;
  }
}

/** The value of a cell in a sum: a hidden cell is NaN in the picture and counts as 0. */
export const known = (x: number) => (Number.isNaN(x) ? 0 : x);

/** Mean and variance of numbers, as LayerNorm takes them: the variance is divided by their count. */
export function momentsOf(numbers: ArrayLike<number>) {
  let sum = 0;
  for (let n = 0; n < numbers.length; n += 1) sum += numbers[n];
  const mean = sum / numbers.length;
  let squares = 0;
  for (let n = 0; n < numbers.length; n += 1) squares += (numbers[n] - mean) ** 2;
  return { mean, variance: squares / numbers.length };
}

const CERTAIN = 8.5; // standard deviations, beyond which Φ is 0 or 1 in double precision

/** Φ(x), the share of a normal distribution below x: ½ + e^(−x²/2) / √2π · Σ x^(2n+1) / (1·3·5⋯(2n+1)). */
export function normalShare(x: number) {
  if (Math.abs(x) > CERTAIN) return x > 0 ? 1 : 0;
  let [term, sum] = [x, 0];
  for (let n = 1; sum + term !== sum; n += 1) {
    sum += term;
    term *= (x * x) / (2 * n + 1);
  }
  return 0.5 + (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * sum;
}

/** Σ left[i, c] · right[c, j] (+ bias[j]) for panels whose z are rows of numbers. */
export function matrixProduct(left: Rows, right: Rows, bias: number[] | null | undefined, i: number, j: number) {
  const terms = left[i].length;
  let sum = 0;
  for (let c = 0; c < terms; c += 1) sum += known(left[i][c]) * right[c][j];
  const added = bias ? bias[j] : null;
  return { terms, sum, bias: added, value: sum + (added ?? 0) };
}

/** The factor of x³ in the approximation of GELU by tanh (Hendrycks and Gimpel 2016). */
export const CUBE = 0.044715;

/**
 * The parts of 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 x³))): what tanh takes, what it gives, and the result.
 */
export function geluByTanh(x: number) {
  const inside = Math.sqrt(2 / Math.PI) * (x + CUBE * x ** 3);
  const tanh = Math.tanh(inside);
  return { inside, tanh, result: 0.5 * x * (1 + tanh) };
}
