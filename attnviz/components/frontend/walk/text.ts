// What stands around the picture of a step: the formula, what to notice, the code.

import { element, perFrame, span } from "../core/dom.ts";
import { nodesOf, plain } from "../marks/text.ts";
import { Marks } from "../marks/marks.ts";
import type { Walk } from "./walk.ts";

const SMALLEST = 0.6; // of its type size: a formula that would have to be smaller is scrolled

export class Formula {
  root = element("div", { class: "walk-formula" });
  shown = "";
  /** in the next frame, when the page is laid out anyway */
  fit = perFrame(() => this.fitNow());
  sizes: ResizeObserver = new ResizeObserver(() => this.fitNow());

  constructor() {
    this.sizes.observe(this.root);
  }

  /** @param formula MathML that core/document.ts has passed, so it may be inserted as markup */
  show(formula: string) {
    if (formula === this.shown) return;
    this.shown = formula;
    this.root.innerHTML = formula;
    this.fit();
  }

  /** Makes the formula smaller where it is wider than its room. */
  fitNow() {
    const { firstElementChild: math } = this.root;
    if (!(math instanceof MathMLElement)) return;
    if (math.style.fontSize) math.style.fontSize = "";
    const { clientWidth: room, scrollWidth: wide } = this.root;
    if (wide > room + 1) math.style.fontSize = `${Math.max(SMALLEST, (0.98 * room) / wide)}em`;
  }

  destroy() {
    this.fit.cancel();
    this.sizes.disconnect();
  }
}

export class Notice {
  text = new Marked(span("text"));
  fact = new Marked(span("fact"));
  root: HTMLParagraphElement;

  constructor() {
    this.root = element("p", { class: "notice", "aria-live": "polite" }, this.text.root, " ", this.fact.root);
  }

  /** @param facts sentences about these numbers */
  show(notice: SaidText, facts: SaidText[]) {
    this.text.show([notice]);
    this.fact.show(facts.filter((fact) => plain(fact)));
  }
}

/** Sentences in an element, which changes only where they do: else a screen reader would say them again. */
class Marked {
  root: HTMLElement;
  shown = "";

  constructor(root: HTMLElement) {
    this.root = root;
  }

  show(texts: SaidText[]) {
    const key = JSON.stringify(texts);
    if (key === this.shown) return;
    this.shown = key;
    this.root.replaceChildren(...texts.flatMap((text, n) => [...(n ? [" "] : []), ...nodesOf(text)]));
  }
}

export class Listing {
  title: HTMLElement = element("summary");
  code: HTMLElement = element("code");
  root: HTMLDetailsElement;

  constructor() {
    const listing = element("pre", { tabIndex: 0 }, this.code);
    this.root = element("details", { class: "listing", hidden: true }, this.title, listing);
    this.root.addEventListener("toggle", () => this.root.open && this.root.scrollIntoView({ block: "nearest" }));
  }

  show(title: string, code: string) {
    this.root.hidden = false;
    this.title.textContent = title;
    this.code.textContent = code;
  }
}

/** The marked words of a walk's texts; where the page is the walk's, of a sentence on it, too. */
export const marksOf = (walk: Walk) =>
  new Marks(walk.home.keyboard === undefined ? [walk.element] : [walk.element, document], {
    onName: (target) => {
      walk.view?.inspector.name(target);
      walk.stepper.name(target);
      walk.tokens.sentence.name(target);
    },
    onPin: (target) => walk.pinNamed(target),
    onHead: ([layer, head]) => walk.choose({ layer, head }),
  });
