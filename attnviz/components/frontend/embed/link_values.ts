// The values of a link's keys, read as attnviz/links reads them: tests/browser/test_heads_modules.py compares the two.

import { LINK_KEYS, MOST_HEADS, ROLLOUT } from "../core/constants.ts";

export type LinkKey = keyof typeof LINK_KEYS;
type Described =
  | { kind: "integer"; default: number | null; low: number; high: number }
  | { kind: "number"; default: number | null; low: number; high: number; decimals: number }
  | { kind: "word"; default: string; words: readonly string[] }
  | { kind: "switch" | "text" | "heads"; default: unknown };

const HEAD = /^(\d{1,4})\.(\d{1,4}|r)$/;

/** A value of a key; undefined where the key does not take it. What may be nothing is nothing where it is empty. */
export function valueOf(name: LinkKey, raw: string): unknown {
  const key: Described = LINK_KEYS[name];
  if (raw === "" && key.default === null) return null;
  switch (key.kind) {
    case "integer":
      return /^\d{1,10}$/.test(raw) ? within(Number(raw), key) : undefined;
    case "number":
      return /^(\d{1,4}\.?|\d{0,4}\.\d{1,10})$/.test(raw) ? rounded(within(Number(raw), key), key.decimals) : undefined;
    case "word":
      return key.words.includes(raw) ? raw : undefined;
    case "switch":
      return raw === "1" ? true : raw === "0" ? false : undefined;
    case "heads":
      return heads(raw);
    default:
      return raw;
  }
}

const within = (value: number, { low, high }: { low: number; high: number }) =>
  value >= low && value <= high ? value : undefined;

const rounded = (value: number | undefined, decimals: number) =>
  value === undefined ? undefined : Math.round(10 ** decimals * value) / 10 ** decimals;

/** An empty list says that there is no other than the current head. */
function heads(raw: string) {
  const words = raw === "" ? [] : [...new Set(raw.split("_"))];
  const found = words.map((one) => HEAD.exec(one));
  if (found.length > MOST_HEADS || !found.every(Boolean)) return undefined;
  return found.map((one) => [Number(one?.[1]), one?.[2] === "r" ? ROLLOUT : Number(one?.[2])]);
}
