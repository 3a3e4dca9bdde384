// The weighted value of one key next to the row of the head's output, number by number.

import { element } from "../core/dom.ts";
import { number, subscript } from "../core/format.ts";

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

export class VectorTable {
  summary: HTMLElement;
  head: HTMLTableRowElement;
  body: HTMLTableSectionElement;
  root: HTMLDetailsElement;
  rows: ReturnType<typeof makeRow>[];
  vectors: Vectors | null;

  constructor() {
    this.summary = element("summary");
    this.head = element("tr");
    this.body = element("tbody");
    const table = element("table", {}, element("thead", {}, this.head), this.body);
    const scroller = element("div", { class: "vectors", tabIndex: 0, role: "group" }, table);
    scroller.setAttribute("aria-label", "weighted value, number by number");
    this.root = element("details", { dataset: { terms: "head_outputs" } }, this.summary, scroller);
    this.rows = [];
    this.vectors = null;
    this.root.addEventListener("toggle", () => this.vectors && this.root.open && this.write(this.vectors));
  }

  set(vectors: Vectors) {
    this.vectors = vectors;
    this.summary.textContent = vectors.count === 1 ? "the one number" : `all ${vectors.count} numbers`;
    if (this.root.open) this.write(vectors);
  }

  write({ count, weight, own, row, q, k, letter }: Vectors) {
    const v = `${letter}${subscript(k)}`;
    const titles = [
      ["", ""],
      ["value", v],
      ["", `${number(weight)} × ${v}`],
      ["", `row ${q}, whole`],
    ];
    this.head.replaceChildren(...titles.map(([name, text]) => element("th", { class: name, scope: "col" }, text)));
    while (this.rows.length < count) this.rows.push(makeRow(this.rows.length));
    if (this.body.childElementCount !== count) {
      this.body.replaceChildren(...this.rows.slice(0, count).map((line) => line.root));
    }
    for (let d = 0; d < count; d += 1) {
      put(this.rows[d].own, own(d));
      put(this.rows[d].share, weight * own(d));
      put(this.rows[d].row, row(d));
    }
  }
}

function put(cell: HTMLElement, x: number) {
  cell.textContent = number(x);
  cell.dataset.value = String(x);
}

function makeRow(d: number) {
  const own = element("td", { class: "value" });
  const share = element("td", { dataset: { share: String(d) } });
  const row = element("td", { class: "whole", dataset: { total: String(d) } });
  return { own, share, row, root: element("tr", {}, element("th", { scope: "row" }, `dim ${d}`), own, share, row) };
}
