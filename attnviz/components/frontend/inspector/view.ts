// What the inspector shows: a title, the arithmetic of one cell, and the fields of the pinned one.

import { strongestOf, sumOf } from "../core/arithmetic.ts";
import { element, focused, screenReaderOnly } from "../core/dom.ts";
import { addend, cellName, number, weightText } from "../core/format.ts";
import { NOTHING } from "../core/pin.ts";
import { result, span, template, write } from "../core/template.ts";
import { Chain } from "./chain.ts";
import { meaningOf } from "./meaning.ts";
import { Product, colourOf } from "./product.ts";
import { forPointer } from "../core/touch.ts";
import { hasOwnWeights } from "./ways.ts";
import type { Attention } from "../core/attention.ts";
import type { Child } from "../core/template.ts";
import type { Inspected } from "./inspector.ts";
import type { Why } from "./why.ts";

export const HINT = "Point at a cell to see its arithmetic; click or tap to pin it.";
const BADGES: Record<string, string> = { pinned: "pinned", pointer: "under the pointer" };
const MOST = 3; // weights of a pinned row

/** What stands above the fields. */
interface Shown {
  part: "hint" | "row" | "chain" | "product";
  badge: string | null;
  title: Child[];
  content: Child[];
}

export class View {
  on;
  pin: Pair = NOTHING;
  inspected: Inspected | null = null;
  shown: Shown;
  windowSize = "";
  chain = new Chain();
  product = new Product();
  live: HTMLParagraphElement = screenReaderOnly({ "aria-live": "polite" });
  section: HTMLElement;

  constructor(root: Element | ShadowRoot, on: { onPin: (pin: Pair) => void; onUnpin: () => void; why: Why }) {
    this.on = on;
    this.shown = hint(HINT);
    // The style sheet makes it visible, so nothing is seen before it has come.
    const looks = { class: "inspector", "aria-label": "Arithmetic of one cell", style: "visibility: hidden" };
    this.section = element("section", looks);
    root.append(this.section);
    this.show(this.shown);
  }

  get labels(): Labels {
    return this.inspected?.labels ?? {};
  }

  /** Whether rows are positions that a vocabulary is scored for: no query looks from there. */
  get areRowsPositions() {
    return this.labels.vocabulary !== undefined;
  }

  setInspected(inspected: Inspected) {
    const { step, attention } = this.inspected ?? {};
    if (inspected.step !== step || inspected.attention.header !== attention?.header) {
      this.forgetHeight(); // what it showed of another step or text says nothing about this one
    }
    this.inspected = inspected;
  }

  write() {
    const { badge, title, content } = this.shown;
    this.section.toggleAttribute("data-pinned", this.pin.q !== null || this.pin.k !== null);
    const heading = template("h2", {}, ...title);
    const state = { class: "badge", hidden: !badge, dataset: { state: badge ?? "" } };
    write(
      this.section,
      template("header", {}, template("span", state, BADGES[badge ?? ""]), heading),
      ...content,
      template("div", { class: "fields", key: "fields" }, ...this.fields()),
      this.live,
    );
  }

  fields(): Child[] {
    const { attention, isLater = false } = this.inspected ?? {};
    const { queries = 0, keys = 0 } = attention ?? {};
    const none = this.pin.q === null && this.pin.k === null;
    const unpin = { type: "button", class: "unpin", title: "Unpin (Escape)", hidden: none, onclick: this.on.onUnpin };
    return [
      this.field(this.areRowsPositions ? "position" : "query row", { name: "q", kind: "query", count: queries }),
      !isLater && this.field("key column", { name: "k", kind: "key", count: keys }),
      template("button", unpin, "unpin"),
    ];
  }

  field(title: string, { name, kind, count }: { name: "q" | "k"; kind: string; count: number }) {
    const looks = { type: "number", min: 0, max: count - 1, step: 1, inputMode: "numeric", placeholder: "–" };
    const typing = focused(this.section);
    const isTyped = typing instanceof HTMLInputElement && typing.name === name;
    // The pinned cell is never written into the field that is being typed in.
    const value = isTyped && this.pin[name] !== null ? {} : { value: String(this.pin[name] ?? "") };
    const acts = { oninput: this.typed, onblur: this.left, onkeydown: keepKey };
    return template(
      "label",
      { class: `field ${kind}` },
      span("field-name", title),
      template("input", { name, ...looks, ...value, ...acts }),
    );
  }

  typed = ({ target }: Event) => {
    const { name, value, max } = target as HTMLInputElement;
    const at = value === "" ? null : Math.min(Math.max(Math.trunc(Number(value)), 0), Number(max));
    this.pin = { ...this.pin, [name]: at }; // a field may be left before the next frame
    this.on.onPin(this.pin);
  };

  /** A field that is left says what is pinned. */
  left = () => this.write();

  showHint(pin: Pair, instead?: string) {
    const at = pin.q ?? pin.k;
    const next = nextOf(pin);
    const title = next && at !== null ? [this.token(pin.q === null ? "key" : "query", at)] : [];
    this.show({ ...hint(instead ?? next ?? HINT), title, badge: next && "pinned" });
  }

  /** The largest weights of a pinned row, if no key is pinned and the step has weights. */
  showRow(attention: Attention, pin: Pair) {
    this.showHint(pin);
    const { step = "", steps = [] } = this.inspected ?? {};
    const hasWeights = hasOwnWeights(attention.header) && steps.indexOf(step) >= steps.indexOf("weights");
    if (pin.q === null || pin.k !== null || pin.q >= attention.queries || !hasWeights) return;
    const { weights } = attention.row(pin.q);
    const found = strongestOf(weights, MOST).filter(([, weight]) => weight > 0);
    const lines = found.map(([k, weight]) =>
      template("li", { dataset: { key: k } }, this.token("key", k, "key"), result(weight, weightText(weight))),
    );
    const whole = sumOf(weights);
    const sum = template("li", { class: "row-sum" }, `Σ of all ${weights.length}`, result(whole, number(whole)));
    const list = found.length ? [template("li", { class: "why" }, "looks most at"), ...lines, sum] : [];
    const row = template("ul", { class: "looks-at", "aria-label": "Where the row looks" }, ...list);
    this.show({ ...this.shown, part: "row", content: [row, ...this.shown.content] });
  }

  /** @param isCovered as of Chain.lines */
  showChain(q: number, k: number, { badge, isCovered }: { badge: string; isCovered: boolean }) {
    if (!this.inspected) return;
    const title = [this.token("query", q), span("arrow", " → "), this.token("key", k)];
    const lines = this.chain.lines(this.inspected, q, k, isCovered);
    if (this.inspected.canExplain && !isCovered) {
      lines.splice(1, 0, this.on.why.show(this.inspected, q, k, badge === "pinned"));
    }
    this.show({ part: "chain", badge, title, content: [template("div", { class: "chain" }, ...lines)] });
  }

  showProduct({
    at,
    panel,
    panels,
    products,
    badge,
  }: {
    at: Cell;
    panel: DrawnPanel;
    panels: DrawnPanel[];
    products: Products;
    badge: string;
  }) {
    const { labels } = this;
    const axes: [kind: string, i: number][] = [
      [at.rows, at.i],
      [at.cols, at.j],
    ];
    const tokens = axes.filter(([kind]) => labels[kind]);
    const parts = tokens.flatMap(([kind, i], n) => [
      n ? " → " : "",
      this.token(kind, i, kind === "vocabulary" ? "column" : kind),
    ]);
    const name = span(`name ${colourOf(panel.name)}`, cellName(panel, at.i, at.j));
    const meaning = meaningOf({ at, panel, panels, labels, loop: this.inspected?.loop });
    const labelOf = (kind: string, i: number) => (labels[kind] ? `${i} ${labels[kind][i] ?? ""}` : String(i));
    const made = products[panel.name];
    const isTerm = made && "kind" in made && made.kind === "term" && this.inspected;
    const ofTerm = isTerm ? this.on.why.ofTerm(isTerm, made, at) : [];
    const lines = ofTerm.length ? ofTerm : this.product.lines({ at, panel, panels, products, labels: labelOf });
    this.show({
      part: "product",
      badge,
      title: [name, " ", ...parts],
      content: [
        meaning.length > 0 && template("p", { class: "meaning", dataset: { line: "meaning" } }, ...meaning),
        template("div", { class: "chain" }, ...lines),
      ],
    });
  }

  show(shown: Shown) {
    // Once it has grown it stays so while the step and the window's size last: what lies below must not jump with the
    // pointer. In another window its lines have other heights.
    const windowSize = `${innerWidth} × ${innerHeight}`;
    if (windowSize !== this.windowSize) this.forgetHeight();
    this.windowSize = windowSize;
    const before = this.section.dataset.shows;
    if (before && before !== shown.part) this.section.style.minHeight = `${this.section.offsetHeight}px`;
    this.section.dataset.shows = shown.part;
    this.shown = shown;
    this.write();
  }

  forgetHeight() {
    this.section.style.minHeight = "";
    delete this.section.dataset.shows;
  }

  /** `row 3 "animal" (query)`, or `position 3 "animal"`; the token is shortened by the style sheet only. */
  token(kind: string, i: number, place: string = kind === "query" ? "row" : "column") {
    const text = this.labels[kind]?.[i] ?? "";
    const quoted = template("bdi", { class: "token", title: text }, text);
    const isPosition = kind === "query" && this.areRowsPositions;
    const role = place === kind || isPosition ? [] : [" ", span("kind", `(${kind})`)];
    return span(`place ${kind}`, `${isPosition ? "position" : place} ${i} "`, quoted, '"', ...role);
  }

  /** The arithmetic of the pinned cell as a line of text, "" where none is pinned. */
  said(attention: Attention, { q, k }: Pair) {
    if (q === null || k === null || !attention.has(q, k)) return "";
    const { score, scaled, capped, biased, bias, masked, weight } = attention.cell(q, k);
    const place = `${q} ${this.labels.query?.[q] ?? ""} → ${k} ${this.labels.key?.[k] ?? ""}`;
    if (!attention.operands) return `${place} · share: ${weightText(weight)}`;
    const isHidden = bias === -Infinity;
    const added = bias && !isHidden ? [`${addend(number(bias))} = ${number(masked)}`] : [];
    const { cap, biased: isBiased } = attention.header;
    const soft = [...(cap ? [`capped: ${number(capped)}`] : []), ...(isBiased ? [`biased: ${number(biased)}`] : [])];
    const chain = !isHidden
      ? [`× ${number(attention.header.scale)} = ${number(scaled)}`, ...soft, ...added, `softmax: ${number(weight)}`]
      : [weight ? `masked: ${number(masked)}, softmax: ${number(weight)}` : "masked: 0"];
    return [place, `q · k = ${number(score)}`, ...chain].join(" · ");
  }

  /** Announces a pin to screen readers; hovering is not announced. */
  announce(attention: Attention, { q, k }: Pair, isCovered: boolean) {
    const rows = this.areRowsPositions ? "position" : "query";
    const spoken = (kind: string, i: number | null) =>
      `${kind === "query" ? rows : kind} ${i} "${this.labels[kind]?.[i ?? -1] ?? ""}"`;
    if (q === null && k === null) {
      this.live.textContent = "Unpinned.";
    } else if (q !== null && k !== null && attention.has(q, k)) {
      const weight = isCovered ? "covered" : weightText(attention.cell(q, k).weight);
      this.live.textContent = `Pinned ${spoken("query", q)}, ${spoken("key", k)}: weight ${weight}.`;
    } else {
      this.live.textContent = `Pinned ${q === null ? spoken("key", k) : spoken("query", q)}.`;
    }
  }
}

/** What is left to choose where only a row or only a column is pinned; null elsewhere. */
function nextOf({ q, k }: Pair) {
  if ((q === null) === (k === null)) return null;
  const missing = q === null ? "a query row" : "a key column";
  return `Now choose ${missing}, here or in the picture, to see the cell's arithmetic.`;
}

const hint = (text: string): Shown => ({
  ...{ part: "hint", badge: null, title: [], content: [template("p", { class: "hint" }, forPointer(text))] },
});

/** The page's own shortcuts (arrows for the steps) can't see that a field inside a shadow root is being typed in. */
function keepKey(event: Event) {
  if ((event as KeyboardEvent).key !== "Escape") event.stopPropagation();
}
