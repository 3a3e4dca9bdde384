// The sentences of Generate. Pure functions.

import { LINK_KEYS } from "../core/constants.ts";
import { fixed, number, operand, whole } from "../core/format.ts";

/** The seed of the text after this one's: after the last seed comes the first. */
export const nextSeed = (seed: number) => (seed >= LINK_KEYS.seed.high ? 0 : seed + 1);

/** @param id how a character stands in a table */
export const nameOf = ({ characters, names }: GenerationModel, id: number) => names[id] ?? characters[id] ?? "?";

/** 1234567 -> "1.23 million". */
export function counted(count: number) {
  if (count < 1e6) return whole(Math.round(count));
  return count < 1e9 ? `${fixed(count / 1e6)} million` : `${fixed(count / 1e9)} billion`;
}

export const seconds = (s: number) => (s < 1 ? `${fixed(s * 1000, 0)} ms` : `${fixed(s, 2)} s`);

/** Why a token can't be drawn; "" if it can. */
export function whyCut({ rank }: DrawnRow, { kept }: Draw, { temperature, top_k }: GenerationHeader) {
  if (rank < kept) return "";
  if (temperature === 0) return "greedy";
  return top_k && rank >= top_k ? "top-k" : "top-p";
}

/** How a token's probability comes about, with its numbers. */
export function arithmetic(row: DrawnRow, draw: Draw, header: GenerationHeader) {
  const name = `“${nameOf(header.model, row.id)}”`;
  const why = whyCut(row, draw, header);
  if (why === "greedy") return `${name}: not the likeliest, so greedy choice never takes it.`;
  if (why) return `${name}: cut by ${why}, so its probability is 0.`;
  if (header.temperature === 0) return `${name}: the likeliest, so greedy choice takes it.`;
  const top = draw.rows[0].scaled;
  const divided = `${operand(row.logit, 4)} / ${header.temperature} = ${operand(row.scaled, 4)}`;
  const exp = `exp(${operand(row.scaled, 4)} − ${operand(top, 4)})`;
  return `${name}: ${divided};  ${exp} / ${fixed(draw.total, 4)} = ${number(row.probability)}`;
}

export function drawnSentence({ own, number: drawn, kept }: Draw, { model }: GenerationHeader) {
  const name = `“${nameOf(model, own.id)}”`;
  if (drawn === null) return `Greedy: ${name} is the likeliest, so nothing is drawn.`;
  const low = fixed(own.sum - own.probability, 4);
  const among = kept === model.characters.length ? "" : `, of ${kept} that are left`;
  return `The number ${fixed(drawn, 4)} falls into ${low} to ${fixed(own.sum, 4)}: ${name}${among}.`;
}

export const headName = (n: number, heads: number) => `layer ${Math.floor(n / heads)}, head ${n % heads}`;
