// The sums that a score is made of. The products of the dimensions come from the document; what X is made of is
// computed where the model is (attnviz/measures/score_parts.py), for a pinned cell.

import { sumOf } from "../core/arithmetic.ts";
import { vectorSaid } from "../core/buckets.ts";
import { failureText, Files } from "../core/files.ts";
import { number, subscript } from "../core/format.ts";
import { span, template } from "../core/template.ts";
import { forPointer } from "../core/touch.ts";
import { equals, how, inlineProducts, line } from "./chain.ts";
import { Folded, scroller, termLines } from "./lists.ts";
import { LARGEST, pairTable, sortedTerms, sumTable } from "./sums.ts";
import { rivals } from "./why.ts";
import type { Attention } from "../core/attention.ts";
import type { Child } from "../core/template.ts";
import type { Inspected } from "./inspector.ts";
import type { Term } from "./sums.ts";
import type { Explains } from "./why.ts";

const UNPINNED = "Click this cell to split its score by the parts of X too.";

export class ScoreSums {
  explains: Explains;
  /** by the document, and by head, query and key */
  known = new WeakMap<WalkDocument, Map<string, ScoreParts>>();
  /** what is asked for */
  asked: { name: string; inspected: Inspected; q: number; k: number } | null = null;
  files: Files<ScoreParts>;
  theme: Theme = "light";
  /** all terms of a sum, where only the largest are listed */
  all: Record<string, Folded> = Object.fromEntries(
    ["dimensions", "query", "key", "term"].map((name) => [name, new Folded(name)]),
  );

  /** @param onCome parts have come, or have not */
  constructor(explains: Explains, onCome: () => void) {
    this.explains = explains;
    this.files = new Files((name) => this.get(name), { onCome: () => onCome(), onFail: () => onCome() });
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

  /** Asks for nothing more. */
  rest() {
    this.files.want([]);
  }

  content(
    inspected: Inspected,
    q: number,
    k: number,
    { isPinned, theme }: { isPinned: boolean; theme: Theme },
  ): Child[] {
    this.theme = theme;
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

  /** The products of a cell of a term of a position bias: content times the vector of a distance. */
  ofTerm({ matrices, attention }: Inspected, { of: [content], weight, rows }: OperationOf, { i, j }: Cell): Child[] {
    const { size, keys, operands } = attention;
    if (!weight || !rows || !operands) return [];
    const isQuery = content === "query";
    const [own, at, relative] = [operands[isQuery ? "query" : "key"], isQuery ? i : j, rows[i * keys + j]];
    const row = relative - rows[keys - 1]; // the first row of the table is of the first query and the last key
    const [left, right] = [(d: number) => own[at * size + d], (d: number) => weight[row * size + d]];
    const sum = sumOf(Array.from({ length: size }, (_, d) => left(d) * right(d)));
    const { scale } = matrices.document.header;
    const colours = isQuery ? ["query", "key"] : ["key", "query"];
    const [letter, other] = isQuery ? ["q", "key"] : ["k", "query"];
    const summary = `all ${size} products`;
    const terms = { count: size, left, right, label: String, sum, summary, colours };
    const names = [
      span(colours[0], `${letter}${subscript(at)}`),
      " · ",
      span(colours[1], `${other} of ${vectorSaid(rows, keys, { q: i, k: j })}`),
    ];
    const formula = [
      how(...names, " = ", ...inlineProducts(size, left, right, colours), " = ", number(sum), ` × ${number(scale)} `),
      equals(sum * scale),
    ];
    return [
      line(
        "term",
        { class: "line current" },
        { title: null, formula, below: this.all.term.show(summary, () => termLines(terms)) },
      ),
    ];
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
  if (values.length === 1) return `The sum has one term, ${whole}.`;
  if (values.length <= LARGEST + 1) return `${values.length} ${what} sum to ${whole}.`;
  const [first, rest] = [sumOf(values.slice(0, LARGEST)), sumOf(values.slice(LARGEST))];
  const left = `the other ${values.length - LARGEST} make ${number(rest)}`;
  return `${values.length} ${what} sum to ${whole}: the ${LARGEST} largest in size make ${number(first)}, ${left}.`;
}
