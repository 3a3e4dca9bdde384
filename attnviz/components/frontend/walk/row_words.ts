// A row of attention in words and numbers: what its token looks at, for the eye and for screen readers, and its softmax
// written out.

import { number, operand, percent, quoted, RIGHT_TO_LEFT, weightText } from "../core/format.ts";
import { result, span, template } from "../core/template.ts";
import type { AttentionRow } from "../core/attention.ts";
import type { Axis } from "../core/document.ts";
import type { HeadMatrices } from "./matrices.ts";

const JOINERS = /[\u200c\u200d]/g; // of letters and emoji: they are seen by what they do
const LOOKED_THROUGH = 2 ** 15; // weights, at most: each is computed for this
const SPOKEN_SHARES = 5; // of a row, to screen readers
const WRITTEN_OUT = 6; // keys whose arithmetic is written out

export type Rows = HeadMatrices["attention"];

/**
 * The characters that a token stands for. A space, what can't be seen, and a part of a character, of which others stand
 * for the rest, have their labels.
 */
export function wordOf(axis: Axis, n: number) {
  const own = axis.places[n] ? axis.covers[n].trim() : "";
  const isSeen = own && !/\p{C}/u.test(own.replace(JOINERS, ""));
  return isSeen && !overlaps(axis, n) && !overlaps(axis, n + 1) ? own : axis.labels[n];
}

/** Where a token begins and ends in its text; undefined for an added one, and where there is none. */
function rangeOf({ places }: Axis, n: number) {
  const numbers = places[n]?.match(/\d+/g)?.map(Number);
  return numbers && { first: numbers[0], last: numbers.at(-1) as number };
}

/** Whether a token stands for characters of the token before it, too. */
function overlaps(axis: Axis, n: number) {
  const [before, own] = [rangeOf(axis, n - 1), rangeOf(axis, n)];
  return Boolean(before && own && axis.segments[n - 1] === axis.segments[n] && own.first <= before.last);
}

/** Whether the first letter of a text belongs to a script that is written from right to left. */
export const isRightToLeft = ({ text }: Axis) => RIGHT_TO_LEFT.test(/\p{L}/u.exec(text)?.[0] ?? "");

/** Whether no space stands before a token: its first character follows the last one of the token before it. */
export function isJoined(axis: Axis, n: number) {
  const [before, own] = [rangeOf(axis, n - 1), rangeOf(axis, n)];
  const { covers, segments } = axis;
  if (!before || !own || segments[n - 1] !== segments[n]) return false;
  return before.last + 1 >= own.first && !/^\s/.test(covers[n]) && !/\s$/.test(covers[n - 1]);
}

/** The place of the largest number. */
export const largest = (numbers: Float64Array) => numbers.reduce((best, x, n) => (x > numbers[best] ? n : best), 0);

/** The row that gives most to another word, or else to another token, of the text; of a long text, among the first. */
export function tellingRow(attention: Rows, query: Axis, key: Axis) {
  const isWord = (axis: Axis, n: number) => Boolean(axis.places[n]) && /[\p{L}\p{N}]/u.test(wordOf(axis, n));
  const isOfText = (axis: Axis, n: number) => Boolean(axis.places[n]);
  return rowOfMost(attention, query, key, isWord) ?? rowOfMost(attention, query, key, isOfText) ?? 0;
}

function rowOfMost(attention: Rows, query: Axis, key: Axis, counts: (axis: Axis, n: number) => boolean) {
  let [best, most]: [number | null, number] = [null, 0];
  for (let q = 0; q < Math.min(attention.queries, LOOKED_THROUGH / attention.keys); q += 1) {
    if (!counts(query, q)) continue;
    const { weights } = attention.row(q);
    for (let k = 0; k < attention.keys; k += 1) {
      const isOther = key !== query || k !== q;
      if (isOther && weights[k] > most && counts(key, k)) [best, most] = [q, weights[k]];
    }
  }
  return best;
}

/** The keys that get anything, those that get most first. */
const byWeight = (weights: Float64Array) =>
  Array.from(weights.keys())
    .filter((k) => weights[k] > 0)
    .sort((a, b) => weights[b] - weights[a]);

export const listOf = (names: string[]) =>
  names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0];

/** The finding of a row: “it” gives 97 % of its attention to “bicycle”. */
export function findingOf(
  { document: { header } }: HeadMatrices,
  row: number,
  { weights, allHidden, sink }: AttentionRow,
) {
  const { query, key } = header;
  const name = (role: string, axis: Axis, n: number) => span(role, quoted(wordOf(axis, n)));
  const isEqual = (n: number) => key === query && wordOf(key, n) === wordOf(query, row);
  if (allHidden) {
    const rest = sink ? ": the sink takes all of its attention." : ", so it has no attention to give.";
    return [name("query", query, row), ` sees no token at all${rest}`];
  }
  const most = largest(weights);
  if (!weights[most] && sink) {
    return [name("query", query, row), " gives nothing to any token: the sink takes all of its attention."];
  }
  const isItself = key === query && most === row;
  return [
    ...[name("query", query, row), " gives ", template("b", {}, percent(weights[most])), " of its attention to "],
    ...(isItself ? ["itself."] : [isEqual(most) && "another ", name("key", key, most), "."]),
    sink !== null && ` The sink takes ${percent(sink.share)}.`,
  ];
}

/** A row for screen readers: it: bicycle 97 %, [CLS] 1 %. */
export function saidOf(weights: Float64Array, query: Axis, key: Axis, row: number) {
  const order = byWeight(weights).slice(0, SPOKEN_SHARES);
  if (!order.length) return `${wordOf(query, row)}: nothing`;
  return `${wordOf(query, row)}: ${order.map((k) => `${wordOf(key, k)} ${percent(weights[k])}`).join(", ")}`;
}

// ---- arithmetic

/** The softmax of a row, written out for the keys that get most: score, scaled, exponential, share. */
export function writtenOut({ document: { header } }: HeadMatrices, numbers: AttentionRow, onOpen: () => void) {
  const { capped, biased, masked, exponentials, weights, shift, sum, sink } = numbers;
  const order = byWeight(weights);
  const [shown, others] = [order.slice(0, WRITTEN_OUT), order.slice(WRITTEN_OUT)];
  const isMasked = order.some((k) => masked[k] !== biased[k]);
  const steps = { capped: header.cap, biased: biased !== capped, masked: isMasked };
  const added = Object.entries(steps).flatMap(([name, has]) => (has ? [name] : []));
  const total = (of: Float64Array) => others.reduce((all, k) => all + of[k], 0);
  const exponential = `exp(${added.at(-1) ?? "scaled"}${shift ? ` − ${operand(shift)}` : ""})`;
  const factor = header.scale === 1 ? "1" : header.scale_label;
  const titles = ["looks at", "score q · k", `scaled, × ${factor}`, ...added, exponential, "share"];
  const columns = titles.map((title) => template("th", { scope: "col" }, title));
  const sumRow = (title: string, exponentialSum: number, weight: number) =>
    template(
      "tr",
      { key: title, class: "sum" },
      template("th", { scope: "row", colSpan: 3 + added.length }, title),
      ...[number(exponentialSum), weightText(weight)].map((text) => template("td", {}, text)),
    );
  const body = template(
    "tbody",
    {},
    ...shown.map((k) => keyRow(wordOf(header.key, k), k, numbers, added as ByKey[])),
    others.length > 0 &&
      sumRow(others.length > 1 ? `${others.length} others` : "1 other", total(exponentials), total(weights)),
    sink && sumRow("the sink", sink.exponential, sink.share),
    sumRow("sum", sum, 1),
  );
  const hidden = weights.length - order.length;
  const first = shown.at(0);
  const quotient =
    first === undefined // of a row whose keys are hidden by a finite number, beside a sink
      ? "The sink takes all. "
      : `${number(exponentials[first])} / ${number(sum)} = ${weightText(weights[first])}. `;
  return template(
    "div",
    { class: "arithmetic" },
    template("table", {}, template("thead", {}, template("tr", {}, ...columns)), body),
    template(
      "p",
      {},
      quotient,
      hidden > 0 && `${hidden} ${hidden > 1 ? "tokens get" : "token gets"} nothing. `,
      template("button", { type: "button", onclick: onOpen }, "The whole matrix"),
    ),
  );
}

type ByKey = "capped" | "biased" | "masked";

/** @param added what stands between the scaled score and its exponential */
function keyRow(word: string, k: number, numbers: AttentionRow, added: ByKey[]) {
  const { scores, scaled, exponentials, weights } = numbers;
  const plain = [scores, scaled, ...added.map((name) => numbers[name])].map((of) => number(of[k], 2));
  return template(
    "tr",
    { key: k },
    template("th", { scope: "row" }, template("bdi", {}, word)),
    ...[...plain, number(exponentials[k])].map((text) => template("td", {}, text)),
    template("td", {}, result(weights[k], weightText(weights[k]))),
  );
}

/** a query and a key */
export type FullPair = { q: number; k: number };
/**
 * The pair of which the walk speaks: what is pinned; of a row, its largest weight; of a column, the row that gives it
 * most; where nothing is, the row that the sentence shows. Its row's arithmetic has to be here.
 */
export function pairOf(matrices: HeadMatrices, { q, k }: Pair): FullPair {
  const { query, key } = matrices.document.header;
  const { attention } = matrices;
  if (q === null && k !== null) {
    const column = Float64Array.from(query.labels, (_, row) => attention.row(row).weights[k]);
    return { q: largest(column), k };
  }
  const row = q ?? tellingRow(attention, query, key);
  return { q: row, k: k ?? largest(attention.row(row).weights) };
}
