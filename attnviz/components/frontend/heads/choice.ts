// The chosen heads: the current one and those added to it. A head is [layer, head], the layer by the model's own
// number; head −1 is rollout. In arrays of all heads, head h of the layer at place p of `layers` is number p · H + h.

import { LINK_KEYS, MOST_HEADS, ROLLOUT } from "../core/constants.ts";

/** the layers' own numbers in order, and the heads of each */
export type HeadCount = { layers: number[]; heads: number };
export type HeadCounts = HeadCount & { rollout: boolean };

/** The default settings, by their names in links. */
export const FRESH: HeadsView = {
  layer: LINK_KEYS.layer.default,
  head: LINK_KEYS.head.default,
  chosen: [[LINK_KEYS.layer.default, LINK_KEYS.head.default]],
  q: LINK_KEYS.q.default,
  k: LINK_KEYS.k.default,
  show: LINK_KEYS.show.default,
  direction: LINK_KEYS.direction.default,
  threshold: LINK_KEYS.threshold.default,
  strongest: LINK_KEYS.strongest.default,
  special: LINK_KEYS.special.default,
  between: LINK_KEYS.between.default,
  values: LINK_KEYS.values.default,
  mean: LINK_KEYS.mean.default,
  stretch: LINK_KEYS.stretch.default,
  sort: LINK_KEYS.sort.default,
  label: LINK_KEYS.label.default,
};

export { ROLLOUT };

/** A head's number among all heads. */
export const numberOf = ({ layers, heads }: HeadCount, [layer, head]: HeadId) => layers.indexOf(layer) * heads + head;

/** The head with a number among all heads. */
export const headAt = ({ layers, heads }: HeadCount, n: number): HeadId => [layers[Math.floor(n / heads)], n % heads];

export const isSame = ([layer, head]: HeadId, other: HeadId) => layer === other[0] && head === other[1];

const includes = (list: HeadId[], head: HeadId) => list.some((other) => isSame(head, other));

/** The view's part that says what is chosen. */
const view = ([layer, head]: HeadId, chosen: HeadId[]): Chosen => ({ layer, head, chosen });

/** Chooses a single head. */
export const only = (head: HeadId) => view(head, [head]);

/** Adds a head to the chosen ones, or removes it; the last one is never removed. */
export function toggled({ layer, head, chosen }: Chosen, other: HeadId): Chosen {
  if (!includes(chosen, other)) return added({ layer, head, chosen }, other);
  const rest = chosen.filter((one) => !isSame(one, other));
  const last = rest.at(-1);
  if (!last) return view(other, [other]);
  return view(isSame([layer, head], other) ? last : [layer, head], rest);
}

/** Adds a head and makes it the current one. */
export function added({ layer, head, chosen }: Chosen, other: HeadId): Chosen {
  if (includes(chosen, other)) return view(other, chosen);
  return chosen.length < MOST_HEADS ? view(other, [...chosen, other]) : view([layer, head], chosen);
}

/** What the server said, as far as it can be: heads that there are, each once, the current one among them. */
export function checked({ layer, head, chosen }: Chosen, { layers, heads, rollout }: HeadCounts): Chosen {
  const exists = ([l, h]: HeadId) => layers.includes(l) && h < heads && (h >= 0 || (rollout && h === ROLLOUT));
  const current: HeadId = exists([layer, head]) ? [layer, head] : [layers[0], 0];
  const unique = [current, ...(chosen ?? [])].filter(
    (one, n, all) => exists(one) && all.findIndex((other) => isSame(one, other)) === n,
  );
  // The order in which they were chosen stays: colours go by it.
  const place = (chosen ?? []).findIndex((one) => isSame(one, current));
  const list = unique.slice(1, MOST_HEADS);
  if (place >= 0) list.splice(place, 0, current);
  return view(current, place >= 0 ? list : unique.slice(0, MOST_HEADS));
}
