// The texts and numbers of the lines.

import { fixed, quoted, weightText } from "../core/format.ts";
import type { Choice } from "./choice.ts";

/** What is drawn, and its tokens. */
export type LinesContext = { choice: Choice; queryLabels: string[]; keyLabels: string[] };

const LONGEST = 40; // characters of a token in a sentence
const PARTNERS = 3;

/** A weight with 4 digits, or a length with fewer where it is large. */
export const digits = (value: number) => (value < 10 ? weightText(value) : fixed(value, value < 100 ? 3 : 2));

/** A token in quotes, its middle left out if it is long. */
function shortened(labels: string[], index: number) {
  const letters = Array.from(labels[index] ?? "");
  const half = LONGEST / 2;
  const text =
    letters.length > LONGEST ? `${letters.slice(0, half).join("")}…${letters.slice(-half).join("")}` : letters.join("");
  return quoted(text);
}

/** The strongest partners of a token ({q} or {k}), as a sentence. */
export function tokenSentence({ q = null, k = null }: PartialPair, { choice, queryLabels, keyLabels }: LinesContext) {
  const from = q !== null;
  const own = from ? `query ${q} ${shortened(queryLabels, q)}` : `key ${k} ${shortened(keyLabels, k ?? -1)}`;
  const found = choice.partners({ q, k }, PARTNERS);
  if (!found.length) return `${capital(own)}: all its weights are hidden.`;
  const several = choice.heads.length > 1;
  const parts = found.map(({ head, partner, value }) => {
    const name = from
      ? `key ${partner} ${shortened(keyLabels, partner)}`
      : `query ${partner} ${shortened(queryLabels, partner)}`;
    return `${name} ${digits(value)}${several ? ` in ${choice.heads[head].name}` : ""}`;
  });
  return `${capital(own)} ${from ? "attends most to" : "is attended to most by"} ${parts.join(", ")}.`;
}

/** What is pinned, as sentences; nothing where nothing is. */
export function pinSentence({ q, k }: Pair, given: LinesContext) {
  const said = [];
  if (q !== null) said.push(tokenSentence({ q }, given));
  if (k !== null) said.push(tokenSentence({ k }, given));
  if (q !== null && k !== null) said.push(pairSentence(q, k, given));
  return said.length ? `Pinned: ${said.join(" ")}` : "";
}

function pairSentence(q: number, k: number, { choice }: LinesContext) {
  const best = choice.largest(q, k);
  if (!best) return `Query ${q} does not see key ${k}.`;
  const where = choice.heads.length > 1 ? `, the largest, in ${choice.heads[best.head].name}` : "";
  return `Query ${q} on key ${k}: ${digits(best.value)}${where}.`;
}

const capital = (text: string) => text[0].toUpperCase() + text.slice(1);
