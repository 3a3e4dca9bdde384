// Where the colours of a matrix end: at its largest number, or before it where that would make all others almost white;
// those of weights when they are darkened, by the user, or in a long text by themselves, because there nearly all
// weights are small. attnviz/figures/colour_limit.py does the same.

import { COLOUR_LIMIT, DARKENED_LIMIT } from "./constants.ts";
import { exponential } from "./format.ts";

const ends: WeakMap<Float32Array, number> = new WeakMap();

/**
 * Where the colours of these matrices end together: the largest of their own ends, 1 if that is 0.
 * @param matrices NaN in hidden cells
 */
export function colourLimit(matrices: Float32Array[]) {
  const own = matrices.map((data) => {
    const end = ends.get(data) ?? ownLimit(data);
    ends.set(data, end);
    return end;
  });
  return Math.max(0, ...own) || 1;
}

const MAGNITUDE = 0x7fffffff; // a float's bits without its sign: they are in the order of the magnitudes
const INFINITE = 0x7f800000; // from there on a float is no number
const HALF = 16; // bits
const counts = new Uint32Array(2 ** HALF);

/**
 * Its largest magnitude; one that only few exceed, if the largest is more than a multiple of that. Magnitudes are
 * counted by the first half of their bits, then by the second: to sort a million takes ten times as long.
 */
function ownLimit(data: Float32Array) {
  const { middle, bleached } = COLOUR_LIMIT;
  const bits = new Uint32Array(data.buffer, data.byteOffset, data.length);
  let [count, most] = [0, 0];
  counts.fill(0);
  for (let n = 0; n < bits.length; n += 1) {
    const magnitude = bits[n] & MAGNITUDE;
    if (magnitude >= INFINITE) continue;
    counts[magnitude >>> HALF] += 1;
    count += 1;
    if (magnitude > most) most = magnitude;
  }
  if (!count) return 0;
  let above = count - 1 - Math.ceil(middle * (count - 1));
  const half = () => {
    let at = counts.length - 1;
    while (counts[at] <= above) above -= counts[at--];
    return at;
  };
  const first = half();
  counts.fill(0);
  for (let n = 0; n < bits.length; n += 1) {
    const magnitude = bits[n] & MAGNITUDE;
    if (magnitude >>> HALF === first) counts[magnitude & (counts.length - 1)] += 1;
  }
  const [few, largest] = new Float32Array(Uint32Array.of(first * counts.length + half(), most).buffer);
  return bleached * few >= largest ? largest : few || largest;
}

/** Keys from which on the colours end there by themselves. */
export const MANY = DARKENED_LIMIT.many;

/**
 * Whether the colours of weights are darkened: "0" in a long text, "1" always, "off" never.
 * @param stretch as links have it
 */
export const darkens = (stretch: string, columns: number) => (stretch === "0" ? columns >= MANY : stretch === "1");

/** What a switch that darkens them, or no longer does, makes of it. */
export function turned(stretch: string, columns: number) {
  const wanted = !darkens(stretch, columns);
  if (wanted === darkens("0", columns)) return "0";
  return wanted ? "1" : "off";
}

const known: WeakMap<Float32Array, Float32Array> = new WeakMap();

/** The largest number of each row that has any that is not hidden (NaN). */
function largestOfRows(data: Float32Array, columns: number) {
  const found = known.get(data);
  if (found) return found;
  const made = new Float32Array(data.length / (columns || 1));
  let rows = 0;
  for (let first = 0; first < data.length; first += columns) {
    let most = -1;
    for (let n = first; n < first + columns; n += 1) if (data[n] > most) most = data[n];
    if (most >= 0) made[rows++] = most;
  }
  const largest = made.slice(0, rows);
  known.set(data, largest);
  return largest;
}

/**
 * Where the colours of these matrices end together: at the largest weight; with MANY keys at that above which one row
 * in ten has a weight, so that a few rows do not make all others faint. 1 where there is no weight, and where darkening
 * would hardly be seen: it is neither offered nor done there.
 * @param matrices each (rows, columns), NaN in hidden cells
 */
export function darkenedLimit(matrices: Float32Array[], columns: number) {
  const largest = matrices.flatMap((data) => [...largestOfRows(data, columns)]).sort((a, b) => a - b);
  const share = columns >= MANY ? DARKENED_LIMIT.share : 1;
  const end = largest[Math.floor(share * (largest.length - 1))];
  return end > 0 && end < DARKENED_LIMIT.below ? end : 1;
}

/** An end of colours, a number from 0 to 1, as it is written: with two digits. */
export function endText(end: number) {
  const text = exponential(end, 1);
  return 0 < Number(text) && Number(text) < 1e-4 ? text.replace("e-", "e−") : String(Number(text));
}
