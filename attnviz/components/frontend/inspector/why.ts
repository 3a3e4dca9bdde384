// Why a score is high or low: the sums that it is made of. The products of the dimensions come from the document; what
// X is made of is computed where the model is (attnviz/measures/score_parts.py), for a pinned cell.

import { sumOf } from "../core/arithmetic.ts";
import { element } from "../core/dom.ts";
import { failureText, Files } from "../core/files.ts";
import { number, subscript } from "../core/format.ts";
import { span, template, write } from "../core/template.ts";
import { forPointer } from "../core/touch.ts";
import { Folded, scroller } from "./lists.ts";
import { LARGEST, pairTable, sortedTerms, sumTable } from "./sums.ts";
import type { Attention } from "../core/attention.ts";
import type { Child } from "../core/template.ts";
import type { Inspected } from "./inspector.ts";
import type { Term } from "./sums.ts";

const UNPINNED = "Click this cell to split its score by the parts of X too.";

/** Where the parts of a score come from, and who hears that the explanation is opened or closed. */
export interface Explains {
  /** @param pair of the head that is inspected */
  fetch: (inspected: Inspected, q: number, k: number) => Promise<ScoreParts>;
  onOpen: (isOpen: boolean) => void;
}

export class Why {
  explains: Explains;
  onCome: () => void;
  root: HTMLDetailsElement = element("details", { class: "why-score" });
  isOpen = false;
  theme: Theme = "light";
  /** by the document, and by head, query and key */
  known = new WeakMap<WalkDocument, Map<string, ScoreParts>>();
  /** what is asked for */
  asked: { name: string; inspected: Inspected; q: number; k: number } | null = null;
  files: Files<ScoreParts>;
  /** all terms of a sum, where only the largest are listed */
  all: Record<string, Folded> = Object.fromEntries(
    ["dimensions", "query", "key"].map((name) => [name, new Folded(name)]),
  );

  /** @param onCome parts have come, or have not */
  constructor(explains: Explains, onCome: () => void) {
    this.explains = explains;
    this.onCome = onCome;
    const onFail = () => this.onCome();
    this.files = new Files((name) => this.get(name), { onCome: () => this.onCome(), onFail });
  }

  async get(name: string): Promise<ScoreParts> {
    if (this.asked?.name !== name) throw new Error("another cell is pinned");
    const { inspected, q, k } = this.asked;
    const parts = await this.explains.fetch(inspected, q, k);
    this.keptOf(inspected.matrices.document).set(name, parts);
    return parts;
  }

  keptOf(document: WalkDocument) {
    const kept = this.known.get(document) ?? new Map<string, ScoreParts>();
    this.known.set(document, kept);
    return kept;
  }

  /** The explanation of a cell's score, which stands below the line of the score. */
  show(inspected: Inspected, q: number, k: number, isPinned: boolean) {
    this.isOpen = inspected.isExplained;
    this.root.open = this.isOpen;
    const { attention } = inspected;
    const question = isHigh(attention, q, k) ? "Why is this score high?" : "Why is this score low?";
    const content = this.isOpen ? this.content(inspected, q, k, isPinned) : [];
    if (!this.isOpen) this.files.want([]);
    // Whether it is open is the view's to say: what the browser did by itself, a frame in between would undo.
    const onclick = (event: Event) => {
      event.preventDefault();
      this.explains.onOpen(!this.isOpen);
    };
    write(this.root, template("summary", { onclick }, question), ...content);
    return this.root;
  }

  content(inspected: Inspected, q: number, k: number, isPinned: boolean): Child[] {
    const { attention } = inspected;
    return [
      template("p", { class: "why-rank" }, rankOf(attention, q, k)),
      ...this.dimensions(attention, q, k),
      ...(isPinned ? this.parts(inspected, q, k) : [template("p", { class: "hint" }, forPointer(UNPINNED))]),
    ];
  }

  dimensions({ operands, size }: Attention, q: number, k: number): Child[] {
    if (!operands) return [];
    const terms = Array.from({ length: size }, (_, d) => ({
      name: `dim ${d}`,
      value: operands.query[q * size + d] * operands.key[k * size + d],
    }));
    const names = [span("query", `q${subscript(q)}`), " · ", span("key", `k${subscript(k)}`)];
    return this.sum("dimensions", ["By dimension: ", ...names], terms, largestSaid(terms, "products"));
  }

  parts(inspected: Inspected, q: number, k: number): Child[] {
    const { document, head } = inspected.matrices;
    const name = [head, q, k].join();
    const parts = this.keptOf(document).get(name);
    if (!parts) {
      if (this.asked?.inspected.matrices.document !== document) this.files.want([]); // what failed was of another text
      this.asked = { name, inspected, q, k };
      this.files.want([name]);
      const { failure } = this.files;
      const said = failure ? `The parts of X can’t be shown: ${failureText(failure)}` : "The parts of X are computed …";
      return [template("p", { class: "hint", role: "status" }, said)];
    }
    const note = parts.note && template("p", { class: "why-note" }, parts.note);
    if (!parts.query.length) return [note];
    const terms = (list: [string, number][]) => list.map(([one, value]) => ({ name: one, value }));
    const [of, by] = [`each part of X at row ${q}, projected, times the whole key`, terms(parts.query)];
    const [ofKey, byKey] = [`the whole query times each part of X at column ${k}, projected`, terms(parts.key)];
    return [
      ...this.sum("query", [span("query", "By the parts of the query"), `: ${of}`], by, largestSaid(by, "parts")),
      ...this.sum("key", [span("key", "By the parts of the key"), `: ${ofKey}`], byKey, largestSaid(byKey, "parts")),
      template("h3", {}, "By pairs: ", span("query", "parts of the query"), " × ", span("key", "parts of the key")),
      scroller("pairs", "pairs of parts", {}, pairTable(parts, this.theme)),
      template("p", { class: "why-note" }, `The cells sum to the score; the difference is ${number(parts.error, 1)}.`),
      note,
    ];
  }

  /** A sum with its title: its largest terms, and all of them where these are more. */
  sum(name: string, title: Child[], terms: Term[], said: string): Child[] {
    const all = this.all[name];
    const [label, count] = [`all ${terms.length}`, terms.length];
    const listed = () => [scroller("terms", `${label}, ${name}`, {}, sumTable(name, sortedTerms(terms), count))];
    return [
      template("h3", {}, ...title),
      template("p", { class: "why-rank" }, said),
      sumTable(name, sortedTerms(terms)),
      count > LARGEST + 1 && all.show(label, listed),
    ];
  }

  destroy() {
    this.files.destroy();
  }
}

/** The scores of a row that no mask hides; of a hidden cell, all. */
function rivals(attention: Attention, q: number, k: number) {
  const { scores } = attention.row(q);
  const isHidden = (key: number) => attention.bias(q, key) === -Infinity;
  return isHidden(k) ? scores : scores.filter((_, key) => !isHidden(key));
}

function isHigh(attention: Attention, q: number, k: number) {
  const scores = rivals(attention, q, k);
  return attention.score(q, k) >= sumOf(scores) / scores.length;
}

/** Where a score stands among the others of its row. */
function rankOf(attention: Attention, q: number, k: number) {
  const scores = rivals(attention, q, k);
  const score = attention.score(q, k);
  if (scores.length === 1) return `${number(score)} is the only score of row ${q} that is not hidden.`;
  const larger = scores.filter((other) => other > score).length;
  const are = `${larger || "none"} ${larger > 1 ? "are" : "is"} larger than ${number(score)}`;
  return `Of the ${scores.length} scores of row ${q}, ${are}; their mean is ${number(sumOf(scores) / scores.length)}.`;
}

/** What the largest terms make of a sum. */
function largestSaid(terms: Term[], what: string) {
  const values = sortedTerms(terms).map(({ value }) => value);
  const whole = number(sumOf(values));
  if (values.length <= LARGEST + 1) return `${values.length} ${what} sum to ${whole}.`;
  const [first, rest] = [sumOf(values.slice(0, LARGEST)), sumOf(values.slice(LARGEST))];
  const left = `the other ${values.length - LARGEST} make ${number(rest)}`;
  return `${values.length} ${what} sum to ${whole}: the ${LARGEST} largest make ${number(first)}, ${left}.`;
}
