// What unfolds below a line of the arithmetic: all products of a sum, all numbers of a vector.

import { element } from "../core/dom.ts";
import { number, subscript } from "../core/format.ts";
import { span, template, write } from "../core/template.ts";
import type { Child } from "../core/template.ts";

/** A summary that unfolds. A closed list costs nothing while the pointer moves: it is written while it is open. */
export class Folded {
  root: HTMLDetailsElement;
  summary = "";
  content: () => Child[] = () => [];
  /** what was written when it was open last */
  written: Child[] = [];

  /** @param line that it belongs to, in data-terms */
  constructor(line: string) {
    this.root = element("details", { dataset: { terms: line } });
    this.root.addEventListener("toggle", () => this.write());
  }

  /** @returns what stands below the line */
  show(summary: string, content: () => Child[]) {
    this.summary = summary;
    this.content = content;
    this.write();
    return this.root;
  }

  write() {
    if (this.root.open) this.written = this.content();
    write(this.root, template("summary", {}, this.summary), ...this.written);
  }
}

/** A box that the keyboard scrolls too. @param properties more of them */
export const scroller = (name: string, label: string, properties: Record<string, unknown>, ...children: Child[]) =>
  template("div", { class: name, tabIndex: 0, role: "group", "aria-label": label, ...properties }, ...children);

/** A sum of products: factors and label of the c-th, the sum, and what is said in one line. */
export interface Terms {
  count: number;
  left: (c: number) => number;
  right: (c: number) => number;
  label: (c: number) => string;
  sum: number;
  summary: string;
  /** classes of the two factors */
  colours: string[];
}

const LONGEST_LABEL = 9; // characters; the rest of a token is cut by the style sheet

/** One line per product, with a small signed bar; and the sum. */
export function termLines({ count, left, right, label, sum, summary, colours }: Terms): Child[] {
  const terms = Array.from({ length: count }, (_, c) => ({ a: left(c), b: right(c), label: label(c) }));
  const largest = Math.max(0, ...terms.map(({ a, b }) => Math.abs(a * b)));
  const widths = terms.map(({ a, b }) => Math.max(...[a, b, a * b].map((x) => number(x).length)));
  const width = Math.max(0, ...widths);
  const longest = Math.max(1, ...terms.map((term) => term.label.length));
  const lines = terms.map((term) => termLine({ ...term, largest, width, colours }));
  const widest = { "--label": `${Math.min(longest, LONGEST_LABEL)}ch` };
  // Not a data-result: a line has one of those, and with a bias this is not it.
  const whole = template("b", { title: String(sum), dataset: { sum } }, number(sum));
  return [
    scroller("terms", summary, { style: widest }, ...lines),
    template("div", { class: "terms-total" }, "sum ", whole),
  ];
}

function termLine({
  a,
  b,
  label,
  largest,
  width,
  colours,
}: {
  a: number;
  b: number;
  label: string;
  largest: number;
  width: number;
  colours: string[];
}) {
  const padded = (x: number) => number(x).padStart(width, "\u2007"); // a space as wide as a digit
  const product = a * b;
  const share = largest > 0 && Number.isFinite(product) ? Math.abs(product) / largest : 0;
  const bar = { class: product < 0 ? "bar negative" : "bar", style: { width: `${share * 50}%` } };
  const shown = template("span", { class: "term-product", dataset: { value: product } }, padded(product));
  return template(
    "div",
    { class: "term" },
    template("span", { class: "term-label", title: label }, label),
    span("term-sum", span(colours[0], padded(a)), " × ", span(colours[1], padded(b)), " = ", shown),
    span("bar-box", template("span", bar)),
  );
}

/** The value of key k, its weight in row q, and the row's whole output. */
export interface Vectors {
  count: number;
  weight: number;
  own: (d: number) => number;
  row: (d: number) => number;
  q: number;
  k: number;
  /** of a value */
  letter: string;
}

/** The weighted value of one key next to the row of the head's output, number by number. */
export function vectorTable({ count, weight, own, row, q, k, letter }: Vectors): Child[] {
  const v = `${letter}${subscript(k)}`;
  const head = (text: string, look?: string) => template("th", { class: look, scope: "col" }, text);
  const cell = (x: number, properties: { class?: string; dataset?: Record<string, unknown> }) =>
    template("td", { ...properties, dataset: { ...properties.dataset, value: x } }, number(x));
  const lines = Array.from({ length: count }, (_, d) =>
    template(
      "tr",
      {},
      template("th", { scope: "row" }, `dim ${d}`),
      cell(own(d), { class: "value" }),
      cell(weight * own(d), { dataset: { share: d } }),
      cell(row(d), { class: "whole", dataset: { total: d } }),
    ),
  );
  const titles = template(
    "tr",
    {},
    head(""),
    head(v, "value"),
    head(`${number(weight)} × ${v}`),
    head(`row ${q}, whole`),
  );
  const table = template("table", {}, template("thead", {}, titles), template("tbody", {}, ...lines));
  return [scroller("vectors", "weighted value, number by number", {}, table)];
}
