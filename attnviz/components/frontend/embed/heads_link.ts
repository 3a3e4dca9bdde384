// What is chosen in Heads, from the keys of links to the explorer's settings and back, as attnviz/links/link.py reads
// them: tests/browser/test_heads_modules.py compares the two.

import { FRESH, MOST, ROLLOUT } from "../heads/choice.ts";
import { BETWEEN, SPECIAL } from "../heads/words.ts";

export type Link = Record<string, string>;
/** undefined where a link can't say this */
export type Read = (raw: string, header: ExplorerHeader) => unknown;

const HEAD = /^(\d{1,4})\.(\d{1,4}|r)$/;

const upTo =
  (most: number): Read =>
  (raw) =>
    /^\d{1,10}$/.test(raw) && Number(raw) <= most ? Number(raw) : undefined;

const index = upTo(100_000);

/** The address of such a page says "" where nothing is pinned. */
const position: Read = (raw, header) => (raw === "" ? null : index(raw, header));

/** To four decimals. */
const fraction: Read = (raw) =>
  /^(\d{1,4}\.?|\d{0,4}\.\d{1,10})$/.test(raw) && Number(raw) <= 1 ? Math.round(1e4 * Number(raw)) / 1e4 : undefined;

const onOrOff: Read = (raw) => (raw === "1" ? true : raw === "0" ? false : undefined);

const oneOf =
  (words: (header: ExplorerHeader) => string[]): Read =>
  (raw, header) =>
    words(header).includes(raw) ? raw : undefined;

const heads: Read = (raw) => {
  const words = raw === "" ? [] : [...new Set(raw.split("_"))];
  const found = words.map((one) => HEAD.exec(one));
  if (found.length > MOST || !found.every(Boolean)) return undefined;
  return found.map((one) => [Number(one?.[1]), one?.[2] === "r" ? ROLLOUT : Number(one?.[2])]);
};

const READ: Record<string, Read> = {
  layer: index,
  head: index,
  rollout: onOrOff,
  chosen: heads,
  q: position,
  k: position,
  show: oneOf(() => ["both", "lines", "heatmap"]),
  direction: oneOf(() => ["vertical", "horizontal"]),
  threshold: fraction,
  strongest: upTo(1000),
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
 */
export function viewOf(link: Link, made: Link, header: ExplorerHeader): HeadsView {
  const said: Record<string, any> = { ...FRESH, rollout: false, chosen: [] };
  for (const [name, read] of Object.entries(READ)) {
    const values = [made, link].map((one) => (name in one ? read(one[name], header) : undefined));
    for (const value of values) if (value !== undefined) said[name] = value;
  }
  const { rollout, chosen, ...rest } = said;
  const head = rollout ? ROLLOUT : rest.head;
  return { ...rest, head, chosen: chosen.length ? chosen : [[rest.layer, head]] } as HeadsView;
}

/** Changed settings by the keys of a link. */
export function keysOf({ head, chosen, ...rest }: Partial<HeadsView>): Record<string, unknown> {
  return {
    ...rest,
    ...(head !== undefined && (head === ROLLOUT ? { rollout: true } : { rollout: false, head })),
    ...(chosen && { chosen: chosen.length > 1 ? chosen.map(written).join("_") : "" }),
  };
}

const written = ([layer, head]: HeadId) => `${layer}.${head === ROLLOUT ? "r" : head}`;
