// The inspector's elements: a title, the fields of the pinned cell, and the arithmetic of one cell.

import { Chain } from "./chain.ts";
import { element, focused, screenReaderOnly, span } from "../core/dom.ts";
import { cellName, number, weightText } from "../core/format.ts";
import { meaningOf } from "./meaning.ts";
import { Product, colourOf } from "./product.ts";
import { RowSummary } from "./row_summary.ts";
import { hasOwnWeights } from "./ways.ts";
import type { Inspected } from "./inspector.ts";
import type { Attention } from "../core/attention.ts";

export const HINT = "Point at a cell to see its arithmetic; click or tap to pin it.";
const BADGES: Record<string, string> = { pinned: "pinned", pointer: "under the pointer" };

export class View {
  onPin;
  pin: Pair;
  step: string;
  /** of the document that is shown */
  header: unknown;
  hasWeights: boolean;
  windowSize: string;
  labels: Labels;
  loop: Inspected["loop"];
  fields;
  unpin: HTMLButtonElement;
  badge: HTMLSpanElement;
  title: HTMLHeadingElement;
  hint: HTMLParagraphElement;
  chain: Chain;
  product: Product;
  meaning: HTMLParagraphElement;
  row: RowSummary;
  live: HTMLParagraphElement;
  section: HTMLElement;

  constructor(root: Element | ShadowRoot, { onPin, onUnpin }: { onPin: (pin: Pair) => void; onUnpin: () => void }) {
    this.onPin = onPin;
    this.pin = { q: null, k: null };
    this.step = "";
    this.header = null;
    this.hasWeights = false;
    this.windowSize = "";
    this.labels = {};
    this.loop = null;
    this.fields = {
      q: field("query row", "query"),
      k: field("key column", "key"),
    };
    for (const { input } of Object.values(this.fields)) {
      input.addEventListener("input", () => this.readFields());
      input.addEventListener("blur", () => this.setPin(this.pin));
      // The page's own shortcuts (arrows for the steps) can't see that a field inside a shadow root is being typed in.
      input.addEventListener("keydown", (event) => event.key !== "Escape" && event.stopPropagation());
    }
    this.unpin = element("button", { type: "button", class: "unpin", title: "Unpin (Escape)" }, "unpin");
    this.unpin.addEventListener("click", onUnpin);
    this.badge = span("badge");
    this.title = element("h2");
    this.hint = element("p", { class: "hint" }, HINT);
    this.chain = new Chain();
    this.product = new Product();
    this.meaning = element("p", { class: "meaning", dataset: { line: "meaning" } });
    this.row = new RowSummary();
    this.live = screenReaderOnly({ "aria-live": "polite" });
    const pin = element("div", { class: "fields" }, this.fields.q.root, this.fields.k.root, this.unpin);
    // The style sheet makes it visible, so nothing is seen before it has come.
    this.section = element(
      "section",
      { class: "inspector", "aria-label": "Arithmetic of one cell", style: "visibility: hidden" },
      element("header", {}, this.badge, this.title),
      this.row.root,
      this.hint,
      this.meaning,
      this.product.root,
      this.chain.root,
      pin,
      this.live,
    );
    root.append(this.section);
    this.show("hint");
  }

  setInspected({ attention, labels, step, steps, loop }: Inspected) {
    if (step !== this.step || attention.header !== this.header) {
      this.forgetHeight(); // what it showed of another step or text says nothing about this one
    }
    this.step = step;
    this.header = attention.header;
    this.hasWeights = hasOwnWeights(attention.header) && steps.indexOf(step) >= steps.indexOf("weights");
    this.labels = labels;
    this.loop = loop;
    this.chain.markStep(attention.header, step, steps);
    this.fields.q.input.max = String(attention.queries - 1);
    this.fields.k.input.max = String(attention.keys - 1);
  }

  /** Writes the pinned cell into the fields, but never into the one that is being typed in. */
  setPin(pin: Pair) {
    this.pin = pin;
    const typing = focused(this.section);
    for (const name of ["q", "k"] as const) {
      const { input } = this.fields[name];
      const text = String(pin[name] ?? "");
      if (input.value !== text && (input !== typing || pin[name] === null)) input.value = text;
    }
    this.unpin.disabled = pin.q === null && pin.k === null;
  }

  readFields() {
    const read = ({ input }: { input: HTMLInputElement }) => {
      if (input.value === "") return null;
      return Math.min(Math.max(Math.trunc(Number(input.value)), 0), Number(input.max));
    };
    this.pin = { q: read(this.fields.q), k: read(this.fields.k) }; // a field may be left before the next frame
    this.onPin(this.pin);
  }

  showHint(pin: Pair, instead?: string) {
    const at = pin.q ?? pin.k;
    const half = at !== null && (pin.q === null || pin.k === null);
    const missing = pin.q === null ? "a query row" : "a key column";
    const next = `Now choose ${missing}, here or in the picture, to see the cell's arithmetic.`;
    this.hint.textContent = instead ?? (half ? next : HINT);
    this.show("hint");
    this.title.replaceChildren(...(half ? [this.token(pin.q === null ? "key" : "query", at)] : []));
    this.setBadge(half ? "pinned" : null);
  }

  /** The largest weights of a pinned row, if no key is pinned and the step has weights. */
  showRow(attention: Attention, pin: Pair) {
    this.showHint(pin);
    if (pin.q === null || pin.k !== null || pin.q >= attention.queries || !this.hasWeights) return;
    this.show("row");
    this.row.show(attention.row(pin.q).weights, (k) => this.token("key", k, "key"));
  }

  showChain(attention: Attention, q: number, k: number, state: string) {
    this.show("chain");
    this.title.replaceChildren(this.token("query", q), span("arrow", " → "), this.token("key", k));
    this.setBadge(state);
    this.chain.show(attention, q, k);
  }

  showProduct({
    at,
    panel,
    panels,
    products,
  }: {
    at: Cell;
    panel: DrawnPanel;
    panels: DrawnPanel[];
    products: Products;
  }) {
    this.show("product");
    const axes: [kind: string, i: number][] = [
      [at.rows, at.i],
      [at.cols, at.j],
    ];
    const tokens = axes.filter(([kind]) => this.labels[kind]);
    const parts = tokens.flatMap(([kind, i], n) => [
      ...(n ? [" → "] : []),
      this.token(kind, i, kind === "vocabulary" ? "column" : kind),
    ]);
    const name = span(`name ${colourOf(panel.name)}`, cellName(panel, at.i, at.j));
    this.title.replaceChildren(name, " ", ...parts);
    this.setBadge("pointer");
    const labels = (kind: string, i: number) => (this.labels[kind] ? `${i} ${this.labels[kind][i] ?? ""}` : String(i));
    this.meaning.replaceChildren(...meaningOf({ at, panel, panels, labels: this.labels, loop: this.loop }));
    this.meaning.hidden = !this.meaning.hasChildNodes();
    this.product.show({ at, panel, panels, products, labels });
  }

  show(part: string) {
    // Once it has grown it stays so while the step and the window's size last: what lies below must not jump with the
    // pointer. In another window its lines have other heights.
    const windowSize = `${innerWidth} × ${innerHeight}`;
    if (windowSize !== this.windowSize) this.forgetHeight();
    this.windowSize = windowSize;
    const shown = this.section.dataset.shows;
    if (shown && shown !== part) this.section.style.minHeight = `${this.section.offsetHeight}px`;
    this.section.dataset.shows = part;
    this.hint.hidden = part !== "hint" && part !== "row";
    this.row.root.hidden = part !== "row";
    this.chain.root.hidden = part !== "chain";
    this.product.root.hidden = part !== "product";
    if (part !== "product") this.meaning.hidden = true;
  }

  forgetHeight() {
    this.section.style.minHeight = "";
    delete this.section.dataset.shows;
  }

  setBadge(state: string | null) {
    this.badge.hidden = !state;
    this.badge.textContent = BADGES[state ?? ""] ?? "";
    this.badge.dataset.state = state ?? "";
  }

  /** `row 3 "animal" (query)`, the token shortened by the style sheet only. */
  token(kind: string, i: number, place: string = kind === "query" ? "row" : "column") {
    const text = this.labels[kind]?.[i] ?? "";
    const quoted = element("bdi", { class: "token", title: text }, text);
    const role = place === kind ? [] : [" ", span("kind", `(${kind})`)];
    return span(`place ${kind}`, `${place} ${i} "`, quoted, '"', ...role);
  }

  /** The arithmetic of the pinned cell as a line of text, "" where none is pinned. */
  said(attention: Attention, { q, k }: Pair) {
    if (q === null || k === null || !attention.has(q, k)) return "";
    const { score, scaled, bias, masked, weight } = attention.cell(q, k);
    const place = `${q} ${this.labels.query?.[q] ?? ""} → ${k} ${this.labels.key?.[k] ?? ""}`;
    if (!attention.operands) return `${place} · share: ${weightText(weight)}`;
    const isHidden = bias === -Infinity;
    const added = bias && !isHidden ? [`+ ${number(bias)} = ${number(masked)}`] : [];
    const chain = !isHidden
      ? [`× ${number(attention.header.scale)} = ${number(scaled)}`, ...added, `softmax: ${number(weight)}`]
      : [weight ? `masked: ${number(masked)}, softmax: ${number(weight)}` : "masked: 0"];
    return [place, `q · k = ${number(score)}`, ...chain].join(" · ");
  }

  /** Announces a pin to screen readers; hovering is not announced. */
  announce(attention: Attention, { q, k }: Pair, isCovered: boolean) {
    const spoken = (kind: string, i: number | null) => `${kind} ${i} "${this.labels[kind]?.[i ?? -1] ?? ""}"`;
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

function field(name: string, kind: string) {
  const input = element("input", { type: "number", min: 0, step: 1, inputMode: "numeric", placeholder: "–" });
  return { input, root: element("label", { class: `field ${kind}` }, span("field-name", name), input) };
}
