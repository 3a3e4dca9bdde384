// What is chosen in Heads, from the keys of links to the explorer's settings and back.

import { LINK_KEYS, ROLLOUT } from "../core/constants.ts";
import { FRESH } from "../heads/choice.ts";
import { valueOf } from "./link_values.ts";
import type { LinkKey } from "./link_values.ts";

export type Link = Record<string, string>;

const NAMES = [...Object.keys(FRESH), "rollout"] as LinkKey[];

/** The words that a page has of keys whose words come with it. */
const WORDS: Partial<Record<LinkKey, (header: ExplorerHeader) => string[]>> = {
  sort: ({ measures }) => ["", ...measures.map(({ name }) => name)],
  label: ({ labels }) => ["", ...labels.flat(2)],
};

/** undefined where a link can't say this */
function read(name: LinkKey, link: Link, header: ExplorerHeader) {
  if (!(name in link)) return undefined;
  const words = WORDS[name]?.(header);
  return words && !words.includes(link[name]) ? undefined : valueOf(name, link[name]);
}

/**
 * The settings that a link says; where it says what there is not, those of `made`, with which the page was made.
 */
export function viewOf(link: Link, made: Link, header: ExplorerHeader): HeadsView {
  const said: Record<string, any> = { ...FRESH, rollout: LINK_KEYS.rollout.default, chosen: LINK_KEYS.chosen.default };
  for (const name of NAMES) {
    const values = [made, link].map((one) => read(name, one, header));
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
