// What is chosen in Heads, from the keys of links to the explorer's settings and back: see attnviz/links/link.py.

import { FRESH, MOST, ROLLOUT } from "../heads/choice.js";
import { BETWEEN, SPECIAL } from "../heads/words.js";

/** @typedef {Record<string, string>} Link */
/** @typedef {(raw: string, header: ExplorerHeader) => unknown} Read undefined where a link can't say this */

const HEAD = /^(\d{1,4})\.(\d{1,4}|r)$/;

/** @type {Read} */
const whole = (raw) => (/^\d{1,6}$/.test(raw) ? Number(raw) : undefined);

/** @type {Read} */
const position = (raw, header) => (raw === "" ? null : whole(raw, header));

/** @type {Read} */
const fraction = (raw) => (/^\d?(\.\d{0,8})?$/.test(raw) && Number(raw) <= 1 ? Number(raw) : undefined);

/** @type {Read} */
const onOrOff = (raw) => (raw === "1" ? true : raw === "0" ? false : undefined);

/** @param {(header: ExplorerHeader) => string[]} words @returns {Read} */
const oneOf = (words) => (raw, header) => (words(header).includes(raw) ? raw : undefined);

/** @type {Read} */
function heads(raw) {
  const found = raw === "" ? [] : raw.split("_").map((one) => HEAD.exec(one));
  if (found.length > MOST || !found.every(Boolean)) return undefined;
  return found.map((one) => [Number(one?.[1]), one?.[2] === "r" ? ROLLOUT : Number(one?.[2])]);
}

/** @type {Record<string, Read>} */
const READ = {
  layer: whole,
  head: whole,
  rollout: onOrOff,
  chosen: heads,
  q: position,
  k: position,
  show: oneOf(() => ["both", "lines", "heatmap"]),
  direction: oneOf(() => ["vertical", "horizontal"]),
  threshold: fraction,
  strongest: whole,
  special: oneOf(() => Object.keys(SPECIAL)),
  between: oneOf(() => Object.keys(BETWEEN)),
  values: oneOf(() => ["weights", "norms"]),
  mean: onOrOff,
  stretch: oneOf(() => ["0", "1", "off"]),
  sort: oneOf(({ measures }) => ["", ...measures.map(({ name }) => name)]),
  label: oneOf(({ labels }) => ["", ...labels.flat(2)]),
};

/**
 * The settings that a link says; where it says what there is not, those of `made`, with which the page was made.
 * @param {Link} link @param {Link} made @param {ExplorerHeader} header @returns {HeadsView}
 */
export function viewOf(link, made, header) {
  /** @type {Record<string, any>} */
  const said = { ...FRESH, rollout: false, chosen: [] };
  for (const [name, read] of Object.entries(READ)) {
    const values = [made, link].map((one) => (name in one ? read(one[name], header) : undefined));
    for (const value of values) if (value !== undefined) said[name] = value;
  }
  const { rollout, chosen, ...rest } = said;
  const head = rollout ? ROLLOUT : rest.head;
  return /** @type {HeadsView} */ ({ ...rest, head, chosen: chosen.length ? chosen : [[rest.layer, head]] });
}

/** Changed settings by the keys of a link. @param {Partial<HeadsView>} changed @returns {Record<string, unknown>} */
export function keysOf({ head, chosen, ...rest }) {
  return {
    ...rest,
    ...(head !== undefined && (head === ROLLOUT ? { rollout: true } : { rollout: false, head })),
    ...(chosen && { chosen: chosen.length > 1 ? chosen.map(written).join("_") : "" }),
  };
}

/** @param {HeadId} head */
const written = ([layer, head]) => `${layer}.${head === ROLLOUT ? "r" : head}`;
