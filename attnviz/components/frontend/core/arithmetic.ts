// The arithmetic of cells that the inspector writes out and the motion plays: sums, norms, activations. Pure functions,
// no DOM.

/** The sums of the first n numbers, for n from 0 to all of them. */
export function runningSums(numbers: ArrayLike<number>) {
  const sums = [0];
  for (let n = 0; n < numbers.length; n += 1) sums.push(sums[n] + numbers[n]);
  return sums;
}

export const sumOf = (numbers: NumberList) => (numbers as number[]).reduce((sum, x) => sum + x, 0);

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

/** The `n` largest numbers of a list that are not NaN, [[place, value], ...], largest first. */
export function strongestOf(values: Float32Array | Float64Array, n: number) {
  const found: [place: number, value: number][] = [];
  values.forEach((value, place) => {
    if (Number.isNaN(value) || (found.length === n && value <= found[n - 1][1])) return;
    const before = found.findIndex(([, other]) => value > other);
    found.splice(before === -1 ? found.length : before, 0, [place, value]);
    if (found.length > n) found.pop();
  });
  return found;
}

/** A cell of a matrix that is turned: of its pair the two columns, cosine and sine, and whether it is the first. */
export type Turn = { pair: number; a: number; b: number; cos: number; sin: number; isFirst: boolean };

/** How a cell is turned by a rotation's tables, of `rows` rows; null where its column stays. */
export function turnOf({ cos, sin, pairing }: OperationOf, rows: number, i: number, j: number): Turn | null {
  if (!cos || !sin) return null;
  const pairs = cos.length / rows;
  if (j >= 2 * pairs) return null;
  const isFirst = pairing === "halves" ? j < pairs : j % 2 === 0;
  const pair = pairing === "halves" ? j % pairs : j >> 1;
  const [a, b] = pairing === "halves" ? [pair, pairs + pair] : [2 * pair, 2 * pair + 1];
  return { pair, a, b, cos: cos[i * pairs + pair], sin: sin[i * pairs + pair], isFirst };
}
