// All terms of a sum of products in a collapsible list: one line per product, with a small signed bar.

import { element, span } from "../core/dom.js";
import { number } from "../core/format.js";

/**
 * A sum of products: factors and label of the c-th, the sum, and what is said in one line.
 * @typedef {object} Terms
 * @property {number} count
 * @property {(c: number) => number} left
 * @property {(c: number) => number} right
 * @property {(c: number) => string} label
 * @property {number} sum
 * @property {string} summary
 * @property {string[]} [colours] classes of the two factors
 */

const LONGEST_LABEL = 9; // characters; the rest of a token is cut by the style sheet

/** @param {number} x @param {number} width */
const padded = (x, width) => number(x).padStart(width, "\u2007"); // a space as wide as a digit

export class TermList {
  /**
   * `line` names the sum in data-line; `left` and `right` are the colour classes of the two factors.
   * @param {string} line @param {string} left @param {string} right
   */
  constructor(line, left, right) {
    this.colours = [left, right];
    this.summary = element("summary");
    this.body = element("div", { class: "terms", tabIndex: 0, role: "group" });
    this.total = element("div", { class: "terms-total" });
    this.root = element("details", { dataset: { terms: line } }, this.summary, this.body, this.total);
    /** @type {ReturnType<typeof makeRow>[]} */
    this.rows = [];
    /** @type {Terms | null} */
    this.terms = null;
    // A closed list costs nothing while the pointer moves: it is written when it is opened.
    this.root.addEventListener("toggle", () => this.terms && this.root.open && this.write(this.terms));
  }

  /** @param {Terms} terms */
  set(terms) {
    this.terms = terms;
    this.summary.textContent = terms.summary;
    this.body.setAttribute("aria-label", terms.summary);
    if (terms.colours) this.colours = terms.colours;
    if (this.root.open) this.write(terms);
  }

  /** @param {Terms} terms */
  write({ count, left, right, label, sum }) {
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

/**
 * @param {ReturnType<typeof makeRow>} row
 * @param {{ a: number, b: number, label: string, width: number, largest: number, colours: string[] }} term
 */
function writeRow(row, { a, b, label, width, largest, colours }) {
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
