// Ranges of distances that share a number of a position bias, as T5's, in float32 as
// attnviz/trace/buckets.py computes them, and distances in words. Pure functions, no DOM.

import { fixed } from "./format.ts";

/** How a layer's distances are in buckets: see the header of a document. */
export interface Buckets {
  /** on both sides together */
  count: number;
  /** about the distance from which on all are in the last one */
  max_distance: number;
  /** whether keys after the query have buckets of their own */
  both_sides: boolean;
}

const float = Math.fround;

/** The number of the bucket of a distance. @param offset key minus query */
export function bucketOf(offset: number, { count, max_distance: most, both_sides: both }: Buckets) {
  const ofSide = both ? Math.floor(count / 2) : count;
  const first = both && offset > 0 ? ofSide : 0;
  const distance = both ? Math.abs(offset) : Math.max(-offset, 0);
  const single = Math.floor(ofSide / 2); // buckets of one distance
  if (distance < single) return first + distance;
  const share = float(float(Math.log(float(distance / single))) / float(Math.log(most / single)));
  return first + Math.min(single + Math.floor(float(share * float(ofSide - single))), ofSide - 1);
}

/** The first and the last distance in the bucket of a distance, of those from 0 to `longest` on its side. */
export function rangeOf(offset: number, buckets: Buckets, longest: number) {
  const isAfter = offset > 0; // where all keys after the query share its bucket, a causal mask hides them
  const sign = isAfter ? 1 : -1;
  const bucket = bucketOf(offset, buckets);
  let [first, last] = [Math.abs(offset), Math.abs(offset)];
  while (first > 0 && bucketOf(sign * (first - 1), buckets) === bucket) first -= 1;
  while (last < longest && bucketOf(sign * (last + 1), buckets) === bucket) last += 1;
  return { first, last, isAfter };
}

/** Where keys are, by how many positions they are from the query: "6 positions after", "3 to 8 positions before". */
export function positionsSaid({ first, last }: { first: number; last: number }, isAfter: boolean) {
  const count = first === last ? String(first) : `${first} to ${last}`;
  return `${count} ${count === "1" ? "position" : "positions"} ${isAfter ? "after" : "before"}`;
}

/**
 * The vector of a cell by its number δ, query minus key, and by the distances that share it in this text, if several.
 *
 * @param relative (Tq, Tk), δ of each cell, which follows from the distance
 */
export function vectorSaid(relative: ArrayLike<number>, keys: number, { q, k }: { q: number; k: number }) {
  const own = relative[q * keys + k];
  const from = (distance: number) => (distance < 0 ? relative[-distance] : relative[distance * keys]);
  const all = Array.from({ length: relative.length / keys + keys - 1 }, (_, n) => n + 1 - keys);
  const same = all.filter((distance) => from(distance) === own).map(Math.abs);
  const [first, last] = [Math.min(...same), Math.max(...same)];
  return `δ = ${fixed(own, 0)}${first === last ? "" : ` (${positionsSaid({ first, last }, k > q)})`}`;
}
