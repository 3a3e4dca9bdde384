// A head's weights after the viewer's filters, as shown by lines, heatmap and tooltip.
//
// A weight is received as an integer from 0 to 65535, rint(weight × 65535), so its error is at most half a step.

import { FAINT_BELOW, WEIGHT_LEVELS } from "../core/constants.ts";
import { reasonOf } from "../core/mask_reasons.ts";

const STEP = 1 / WEIGHT_LEVELS.full;
const HALF = WEIGHT_LEVELS.error; // half a step, and what is lost where the product was worked out in single precision

/** A row of which less than this remains cannot be renormalised: what is left is of the size of the steps. */
export const LEAST = 1e-3;

const SIDES: Record<string, number> = { a: 1, b: 2 };

/**
 * The rows and columns that a filter lets through, one byte each.
 * `groups` holds {query, key}: one number a token, 0 special, 1 first sentence, 2 second sentence.
 */
export function letThrough({ query, key }: { query: number[]; key: number[] }, { special, between }: Filters) {
  const [from, to] = between === "all" ? [null, null] : [SIDES[between[0]], SIDES[between[1]]];
  const passes = (groups: number[], side: number | null) =>
    Uint8Array.from(groups, (group) =>
      (side === null || group === side) && (special === "keep" || group !== 0) ? 1 : 0,
    );
  return { queries: passes(query, from), keys: passes(key, to) };
}

/**
 * One head as it is shown: {at, errors, high, seen, short}.
 *
 * `codes` are its weights as they arrived (rows × cols); `norms` are the lengths ‖f(x)‖ of its keys, or null. `at`
 * holds NaN where a cell is hidden; `errors` say how far each row's numbers may be from the model's own; `seen` cells
 * are not hidden; `short` rows were too small to be renormalised; `kept` has 0 for the rows and columns that are left
 * out, whatever the mask hides.
 */
export function filtered(
  codes: Uint16Array,
  frame: HeadFrame,
  filters: Filters,
  norms: Float32Array | null = null,
): ShownValues {
  const { rows, cols, causal, hidden, reasons } = frame;
  const { queries, keys } = letThrough(frame.groups, filters);
  const at = new Float32Array(rows * cols).fill(NaN);
  const errors = new Float64Array(rows);
  const shown = { at, errors, high: 0, seen: 0, short: 0, reasons, kept: { queries, keys } };
  const longest = norms ? norms.reduce((a, b) => Math.max(a, b), 0) : 1;
  for (let i = 0; i < rows; i += 1) {
    if (!queries[i]) continue;
    const first = i * cols;
    const end = first + (causal ? Math.min(i + 1, cols) : cols);
    const isDivided = filters.special === "renormalise";
    const { rest, error } = isDivided ? remainder(codes, frame, i) : { rest: 1, error: HALF };
    if (rest < LEAST) {
      shown.short += 1;
      queries[i] = 0;
      continue;
    }
    const factor = STEP / rest;
    errors[i] = error * longest;
    for (let n = first; n < end; n += 1) {
      if (!keys[n - first] || hidden?.[n] || (reasons && reasonOf(reasons, i, n - first))) continue;
      const value = codes[n] * factor * (norms ? norms[n - first] : 1);
      at[n] = value;
      if (value > shown.high) shown.high = value;
      shown.seen += 1;
    }
  }
  return shown;
}

/**
 * What a row has left without its special keys, and how far a weight divided by it may be off. A softmax's row sums to
 * 1, so the rest is 1 less the few special weights: better known than the sum of the many others. With a sink the row
 * sums to less, so the others are summed.
 */
function remainder(codes: Uint16Array, { cols, groups, has_sinks: hasSinks }: HeadFrame, i: number) {
  let [whole, special, specials] = [0, 0, 0];
  for (let j = 0; j < cols; j += 1) {
    const code = codes[i * cols + j];
    whole += code;
    if (groups.key[j] !== 0) continue;
    special += code;
    specials += 1;
  }
  const sumsToOne = !hasSinks && Math.abs(whole * STEP - 1) <= cols * HALF;
  const rest = (sumsToOne ? 1 : whole * STEP) - special * STEP;
  const summed = sumsToOne ? specials : cols - specials;
  return { rest, error: (HALF * (1 + summed)) / rest };
}

/**
 * The mean of several heads as they are shown: what the mask of one hides counts as a weight of 0 there, and only what
 * no head shows, or what is left out of one, is hidden.
 */
export function mean(heads: ShownValues[]): ShownValues {
  const [first] = heads;
  const isShared = heads.every(({ reasons }) => JSON.stringify(reasons) === JSON.stringify(first.reasons));
  const shown: ShownValues = {
    at: new Float32Array(first.at.length),
    errors: first.errors.slice(),
    high: 0,
    seen: 0,
    short: 0,
  };
  if (isShared) shown.reasons = first.reasons;
  const kept = keptOf(heads);
  if (kept) shown.kept = kept;
  for (let n = 0; n < shown.at.length; n += 1) {
    const isHidden = heads.every(({ at }) => Number.isNaN(at[n])) || (kept && !isKept(kept, n));
    let sum = 0;
    for (const { at } of heads) sum += at[n] || 0;
    const value = isHidden ? NaN : sum / heads.length;
    shown.at[n] = value;
    if (isHidden) continue;
    shown.seen += 1;
    if (value > shown.high) shown.high = value;
  }
  for (const { errors, short } of heads) {
    shown.short = Math.max(shown.short, short);
    errors.forEach((error, i) => (shown.errors[i] = Math.max(shown.errors[i], error)));
  }
  return shown;
}

/** What none of several heads leaves out. */
function keptOf(heads: ShownValues[]) {
  const all = heads.flatMap(({ kept }) => kept ?? []);
  if (!all.length) return null;
  const [{ keys }] = all; // the same of all heads, while a row may be too small in one of them
  return { queries: all[0].queries.map((_, i) => (all.every(({ queries }) => queries[i]) ? 1 : 0)), keys };
}

const isKept = ({ queries, keys }: Kept, n: number) => queries[Math.floor(n / keys.length)] && keys[n % keys.length];

/**
 * Whether weights coloured from 0 to 1 look like an empty sheet: half of the rows that have any hold none above
 * FAINT_BELOW. The same as `faint` in attnviz/steps/weights.py.
 */
export function isFaint(at: Float32Array, rows: number, cols: number) {
  const largest = [];
  for (let i = 0; i < rows; i += 1) {
    let most = -1;
    for (let n = i * cols; n < (i + 1) * cols; n += 1) if (at[n] > most) most = at[n];
    if (most >= 0) largest.push(most);
  }
  return 2 * largest.filter((most) => most > FAINT_BELOW).length < largest.length;
}

/** How many digits after the point of a number are certain, at most 4. */
export function certainDigits(error: number) {
  return Math.max(1, Math.min(4, Math.floor(-Math.log10(2 * error) + 1e-9)));
}
