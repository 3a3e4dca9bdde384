// All terms of a sum of products in a collapsible list: one line per product, with a small signed bar.

import { element, span } from "../core/dom.ts";
import { number } from "../core/format.ts";

/** A sum of products: factors and label of the c-th, the sum, and what is said in one line. */
export interface Terms {
  count: number;
  left: (c: number) => number;
  right: (c: number) => number;
  label: (c: number) => string;
  sum: number;
  summary: string;
  /** classes of the two factors */
  colours?: string[];
}

const LONGEST_LABEL = 9; // characters; the rest of a token is cut by the style sheet

const padded = (x: number, width: number) => number(x).padStart(width, "\u2007"); // a space as wide as a digit

export class TermList {
  colours: string[];
  summary: HTMLElement;
  body: HTMLDivElement;
  total: HTMLDivElement;
  root: HTMLDetailsElement;
  rows: ReturnType<typeof makeRow>[];
  terms: Terms | null;

  /** `line` names the sum in data-line; `left` and `right` are the colour classes of the two factors. */
  constructor(line: string, left: string, right: string) {
    this.colours = [left, right];
    this.summary = element("summary");
    this.body = element("div", { class: "terms", tabIndex: 0, role: "group" });
    this.total = element("div", { class: "terms-total" });
    this.root = element("details", { dataset: { terms: line } }, this.summary, this.body, this.total);
    this.rows = [];
    this.terms = null;
    // A closed list costs nothing while the pointer moves: it is written when it is opened.
    this.root.addEventListener("toggle", () => this.terms && this.root.open && this.write(this.terms));
  }

  set(terms: Terms) {
    this.terms = terms;
    this.summary.textContent = terms.summary;
    this.body.setAttribute("aria-label", terms.summary);
    if (terms.colours) this.colours = terms.colours;
    if (this.root.open) this.write(terms);
  }

  write({ count, left, right, label, sum }: Terms) {
    while (this.rows.length < count) this.rows.push(makeRow());
    if (this.body.childElementCount !== count) {
      this.body.replaceChildren(...this.rows.slice(0, count).map((row) => row.root));
    }
    let [largest, width, labels] = [0, 0, 1];
    for (let c = 0; c < count; c += 1) {
      largest = Math.max(largest, Math.abs(left(c) * right(c)));
      width = Math.max(width, number(left(c)).length, number(right(c)).length, number(left(c) * right(c)).length);
      labels = Math.max(labels, label(c).length);
    }
    this.body.style.setProperty("--label", `${Math.min(labels, LONGEST_LABEL)}ch`);
    for (let c = 0; c < count; c += 1) {
      writeRow(this.rows[c], { a: left(c), b: right(c), label: label(c), width, largest, colours: this.colours });
    }
    // Not a data-result: a line has one of those, and with a bias this is not it.
    const digits = String(sum);
    this.total.replaceChildren("sum ", element("b", { title: digits, dataset: { sum: digits } }, number(sum)));
  }
}

function makeRow() {
  const row = { label: span("term-label"), a: span(""), b: span(""), product: span("term-product"), bar: span("") };
  const sums = span("term-sum", row.a, " × ", row.b, " = ", row.product);
  return { ...row, root: element("div", { class: "term" }, row.label, sums, span("bar-box", row.bar)) };
}

function writeRow(
  row: ReturnType<typeof makeRow>,
  {
    a,
    b,
    label,
    width,
    largest,
    colours,
  }: { a: number; b: number; label: string; width: number; largest: number; colours: string[] },
) {
  const product = a * b;
  row.label.textContent = label;
  row.label.title = label;
  row.a.textContent = padded(a, width);
  row.b.textContent = padded(b, width);
  [row.a.className, row.b.className] = colours;
  row.product.textContent = padded(product, width);
  row.product.dataset.value = String(product);
  const share = largest > 0 && Number.isFinite(product) ? Math.abs(product) / largest : 0;
  row.bar.className = product < 0 ? "bar negative" : "bar";
  row.bar.style.width = `${share * 50}%`;
}
