// Ranges of distances that share a number of a position bias, as T5's, in float32 as
// attnviz/trace/buckets.py computes them. Pure functions, no DOM.

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

/** The first and the last distance in the bucket of a distance, of those from 0 to `longest`. */
export function rangeOf(offset: number, buckets: Buckets, longest: number) {
  const sign = offset > 0 ? 1 : -1;
  const bucket = bucketOf(offset, buckets);
  let [first, last] = [Math.abs(offset), Math.abs(offset)];
  while (first > 1 && bucketOf(sign * (first - 1), buckets) === bucket) first -= 1;
  while (last < longest && bucketOf(sign * (last + 1), buckets) === bucket) last += 1;
  return { first, last };
}

/**
 * What the vector of a cell stands for in this text: a distance, query minus key, or several.
 *
 * @param relative (Tq, Tk), the number of each cell's vector; that of the first query and the last key is the smallest
 * @param distances what the vectors stand for, in their order; a file made before they were in it has none
 */
export function distanceOf(
  relative: ArrayLike<number>,
  keys: number,
  { q, k }: { q: number; k: number },
  distances: string[] = [],
) {
  return distances[relative[q * keys + k] - relative[keys - 1]] ?? "their distance";
}
