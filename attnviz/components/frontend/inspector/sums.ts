// Sums as tables: the terms, the largest first, with their shares and the sum so far; and the terms of two sums by
// pairs.

import { sumOf } from "../core/arithmetic.ts";
import { blend, inkOn, SCALES } from "../core/colours.ts";
import { number, percent } from "../core/format.ts";
import { template } from "../core/template.ts";
import type { Template } from "../core/template.ts";

/** How many terms are listed by themselves; the others stand in one line. */
export const LARGEST = 5;
const DIGITS = 2; // of a pair

/** What a table lists, by its name. */
const LABELS: Record<string, string> = {
  dimensions: "The score by dimension",
  query: "The score by parts of the query",
  key: "The score by parts of the key",
};

export interface Term {
  name: string;
  value: number;
}

/** The terms by size, the largest first; of equal ones, the first. */
export const sortedTerms = (terms: Term[]) => [...terms].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));

/**
 * A line for each term: name, bar, value, its share of all sizes, the sum up to it.
 * @param terms by size
 * @param count of lines; if there are more terms, the last line has all others
 */
export function sumTable(name: string, terms: Term[], count = LARGEST + 1): Template {
  const sizes = sumOf(terms.map(({ value }) => Math.abs(value)));
  const isCut = terms.length > count;
  const shown = isCut ? terms.slice(0, count - 1) : terms;
  const others = terms.slice(shown.length).map(({ value }) => value);
  const rest = { name: `${others.length} others`, value: sumOf(others), size: sumOf(others.map(Math.abs)) };
  const listed = shown.map((term) => ({ ...term, size: Math.abs(term.value) }));
  const largest = Math.max(...listed.map(({ size }) => size), isCut ? Math.abs(rest.value) : 0);
  let sum = 0;
  const lines = [...listed, ...(isCut ? [rest] : [])].map(({ name: label, value, size }) => {
    sum += value;
    return sumLine(label, value, { bar: largest && value / largest, part: sizes && size / sizes, sum });
  });
  const head = (text: string, title?: string) => template("th", { scope: "col", title }, text);
  const shares = head("of all sizes", "the term’s size, of the sum of all sizes");
  return template(
    "table",
    { class: "sums", "aria-label": LABELS[name], dataset: { sums: name } },
    template("thead", {}, template("tr", {}, head("term"), head("value"), template("td"), shares, head("sum so far"))),
    template("tbody", {}, ...lines),
  );
}

function sumLine(name: string, value: number, { bar, part, sum }: { bar: number; part: number; sum: number }) {
  const looks = { class: bar < 0 ? "bar negative" : "bar", style: { width: `${Math.abs(bar) * 50}%` } };
  return template(
    "tr",
    {},
    template("th", { scope: "row" }, name),
    template("td", { dataset: { value } }, number(value)),
    template("td", { class: "bar-cell" }, template("div", { class: "bar-box" }, template("div", looks))),
    template("td", {}, percent(part)),
    template("td", { dataset: { sum } }, number(sum)),
  );
}

/** Each part of a query times each part of a key, coloured as scores are. */
export function pairTable({ rows, columns, pairs }: ScoreParts, theme: Theme): Template {
  const largest = Math.max(...pairs.flat().map(Math.abs));
  const head = (text: string, scope: string) =>
    template("th", { scope, class: scope === "row" ? "query" : "key" }, text);
  const cell = (value: number) => {
    const colour = blend(SCALES[theme].signed, 0.5 + (largest && value / largest / 2));
    const style = { background: `rgb(${colour.join()})`, color: inkOn(colour) };
    return template("td", { style, dataset: { value }, title: number(value) }, number(value, DIGITS));
  };
  const lines = pairs.map((line, row) => template("tr", {}, head(rows[row], "row"), ...line.map(cell)));
  const titles = template("tr", {}, template("td", {}), ...columns.map((name) => head(name, "col")));
  return template("table", {}, template("thead", {}, titles), template("tbody", {}, ...lines));
}
