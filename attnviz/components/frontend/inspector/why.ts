// Why a score is high or low: a question below the score in the arithmetic, and its answer, which is fetched when it is
// opened.

import { sumOf } from "../core/arithmetic.ts";
import { element } from "../core/dom.ts";
import { Later } from "../core/later.ts";
import { template, write } from "../core/template.ts";
import type { Attention } from "../core/attention.ts";
import type { Inspected } from "./inspector.ts";
import type { ScoreSums } from "./score_sums.ts";

/** Where the parts of a score come from, and who hears that the explanation is opened or closed. */
export interface Explains {
  /** @param pair of the head that is inspected */
  fetch: (inspected: Inspected, q: number, k: number) => Promise<ScoreParts>;
  onOpen: (isOpen: boolean) => void;
}

export class Why {
  explains: Explains;
  root: HTMLDetailsElement = element("details", { class: "why-score" });
  isOpen = false;
  theme: Theme = "light";
  sums: Later<ScoreSums>;

  /** @param onCome there is something new to show */
  constructor(explains: Explains, onCome: () => void) {
    this.explains = explains;
    const make = async () => new (await import("./score_sums.ts")).ScoreSums(explains, onCome);
    this.sums = new Later(make, onCome);
  }

  /** The explanation of a cell's score, which stands below the line of the score. */
  show(inspected: Inspected, q: number, k: number, isPinned: boolean) {
    this.isOpen = inspected.isExplained;
    this.root.open = this.isOpen;
    const { attention } = inspected;
    const question = isHigh(attention, q, k) ? "Why is this score high?" : "Why is this score low?";
    if (this.isOpen) void this.sums.want();
    else this.sums.value?.rest();
    const content = this.isOpen ? this.sums.value?.content(inspected, q, k, { isPinned, theme: this.theme }) : [];
    // Whether it is open is the view's to say: what the browser did by itself, a frame in between would undo.
    const onclick = (event: Event) => {
      event.preventDefault();
      this.explains.onOpen(!this.isOpen);
    };
    write(this.root, template("summary", { onclick }, question), ...(content ?? []));
    return this.root;
  }

  /** How a cell of a term of a position bias is computed; nothing until that is here. */
  ofTerm(inspected: Inspected, made: OperationOf, at: Cell) {
    void this.sums.want();
    return this.sums.value?.ofTerm(inspected, made, at) ?? [];
  }

  destroy() {
    this.sums.value?.destroy();
  }
}

/** The scores of a row that no mask hides; of a hidden cell, all. */
export function rivals(attention: Attention, q: number, k: number) {
  const { scores } = attention.row(q);
  const isHidden = (key: number) => attention.bias(q, key) === -Infinity;
  return isHidden(k) ? scores : scores.filter((_, key) => !isHidden(key));
}

function isHigh(attention: Attention, q: number, k: number) {
  const scores = rivals(attention, q, k);
  return attention.score(q, k) >= sumOf(scores) / scores.length;
}
