// The curves of a training, from the arrays of a payload, and what they are at a step. Pure functions.

const NONE = new Float32Array(0);

/** @param n which training */
export function curvesOf(arrays: Arrays, n: number, patterns: TrainingPattern[]): TrainingCurves {
  const one = (name: string) => arrays[`${n}.${name}`]?.data ?? NONE;
  const steps = one("evaluated");
  return {
    loss: { steps: one("loss_steps"), values: one("loss") },
    held_out: { steps, values: one("held_out") },
    accuracy: { steps, values: one("accuracy") },
    trained: { steps, values: one("trained") },
    scores: patterns.map((_, p) => {
      const array = arrays[`${n}.scores.${p}`];
      return { heads: array?.shape[1] ?? 0, steps, values: array?.data ?? NONE };
    }),
  };
}

/** The head with the largest score at evaluation `at`, and that score; null without a score. */
export function bestOf({ heads, values }: { heads: number; values: Numbers }, at: number) {
  let best: { head: number; score: number } | null = null;
  for (let head = 0; head < heads; head += 1) {
    const score = values[at * heads + head];
    if (score > (best?.score ?? -Infinity)) best = { head, score }; // a model that diverges has scores that are NaN
  }
  return best;
}

/** The largest score at each evaluation. */
export function largestScores(scores: { heads: number; steps: Numbers; values: Numbers }) {
  const values = Float32Array.from(scores.steps, (_, at) => bestOf(scores, at)?.score ?? NaN);
  return { steps: scores.steps, values };
}

/** The number of the last entry whose step is not after `step`; −1 if all are. */
export function lastBefore(steps: Numbers, step: number) {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The value of a curve at a step or the last one before it; null before the first. */
export function valueAt({ steps, values }: Series, step: number) {
  const at = lastBefore(steps, step);
  return at < 0 || Number.isNaN(values[at]) ? null : values[at];
}

/** Of sorted numbers, the one nearest to another. */
export function nearest(sorted: number[], to: number) {
  return sorted.reduce((best, one) => (Math.abs(one - to) < Math.abs(best - to) ? one : best), sorted[0] ?? 0);
}

/** Round steps of an axis from 0: at most `count` of them. */
export function ticks(high: number, count: number) {
  if (!(high > 0)) return [0];
  const rough = high / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * (1 - 1e-9)) ?? rough;
  return Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, n) => n * step);
}
