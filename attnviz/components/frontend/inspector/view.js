// The inspector's elements: a title, the fields of the pinned cell, and the arithmetic of one cell.

import { Chain } from "./chain.js";
import { element, focused, screenReaderOnly, span } from "../core/dom.js";
import { cellName, number } from "../core/format.js";
import { meaningOf } from "./meaning.js";
import { Product, colourOf } from "./product.js";
import { RowSummary } from "./row_summary.js";
import { hasOwnWeights } from "./ways.js";

/** @typedef {import("./arithmetic.js").Attention} Attention */

export const HINT = "Point at a cell to see its arithmetic; click or tap to pin it.";
/** @type {Record<string, string>} */
const BADGES = { pinned: "pinned", pointer: "under the pointer" };

export class View {
  /** @param {Element | ShadowRoot} root @param {{ onPin: (pin: Pair) => void, onUnpin: () => void }} does */
  constructor(root, { onPin, onUnpin }) {
    this.onPin = onPin;
    /** @type {Pair} */
    this.pin = { q: null, k: null };
    this.step = "";
    /** @type {unknown} of the document that is shown */
    this.header = null;
    this.hasWeights = false;
    this.windowSize = "";
    /** @type {Labels} */
    this.labels = {};
    /** @type {import("./inspector.js").Inspected["loop"]} */
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

  /** @param {import("./inspector.js").Inspected} inspected */
  setInspected({ attention, labels, step, steps, loop }) {
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

  /**
   * Writes the pinned cell into the fields, but never into the one that is being typed in.
   * @param {Pair} pin
   */
  setPin(pin) {
    this.pin = pin;
    const typing = focused(this.section);
    for (const name of /** @type {const} */ (["q", "k"])) {
      const { input } = this.fields[name];
      const text = String(pin[name] ?? "");
      if (input.value !== text && (input !== typing || pin[name] === null)) input.value = text;
    }
    this.unpin.disabled = pin.q === null && pin.k === null;
  }

  readFields() {
    /** @param {{ input: HTMLInputElement }} field */
    const read = ({ input }) => {
      if (input.value === "") return null;
      return Math.min(Math.max(Math.trunc(Number(input.value)), 0), Number(input.max));
    };
    this.pin = { q: read(this.fields.q), k: read(this.fields.k) }; // a field may be left before the next frame
    this.onPin(this.pin);
  }

  /** @param {Pair} pin @param {string} [instead] */
  showHint(pin, instead) {
    const at = pin.q ?? pin.k;
    const half = at !== null && (pin.q === null || pin.k === null);
    const missing = pin.q === null ? "a query row" : "a key column";
    const next = `Now choose ${missing}, here or in the picture, to see the cell's arithmetic.`;
    this.hint.textContent = instead ?? (half ? next : HINT);
    this.show("hint");
    this.title.replaceChildren(...(half ? [this.token(pin.q === null ? "key" : "query", at)] : []));
    this.setBadge(half ? "pinned" : null);
  }

  /**
   * The largest weights of a pinned row, if no key is pinned and the step has weights.
   * @param {Attention} attention @param {Pair} pin
   */
  showRow(attention, pin) {
    this.showHint(pin);
    if (pin.q === null || pin.k !== null || pin.q >= attention.queries || !this.hasWeights) return;
    this.show("row");
    this.row.show(attention.row(pin.q).weights, (k) => this.token("key", k, "key"));
  }

  /** @param {Attention} attention @param {number} q @param {number} k @param {string} state */
  showChain(attention, q, k, state) {
    this.show("chain");
    this.title.replaceChildren(this.token("query", q), span("arrow", " → "), this.token("key", k));
    this.setBadge(state);
    this.chain.show(attention, q, k);
  }

  /** @param {{ at: Cell, panel: DrawnPanel, panels: DrawnPanel[], products: Products }} pointed */
  showProduct({ at, panel, panels, products }) {
    this.show("product");
    /** @type {[kind: string, i: number][]} */
    const axes = [
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
    /** @param {string} kind @param {number} i */
    const labels = (kind, i) => (this.labels[kind] ? `${i} ${this.labels[kind][i] ?? ""}` : String(i));
    this.meaning.replaceChildren(...meaningOf({ at, panel, panels, labels: this.labels, loop: this.loop }));
    this.meaning.hidden = !this.meaning.hasChildNodes();
    this.product.show({ at, panel, panels, products, labels });
  }

  /** @param {string} part */
  show(part) {
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

  /** @param {string | null} state */
  setBadge(state) {
    this.badge.hidden = !state;
    this.badge.textContent = BADGES[state ?? ""] ?? "";
    this.badge.dataset.state = state ?? "";
  }

  /**
   * `row 3 "animal" (query)`, the token shortened by the style sheet only.
   * @param {string} kind @param {number} i @param {string} place
   */
  token(kind, i, place = kind === "query" ? "row" : "column") {
    const text = this.labels[kind]?.[i] ?? "";
    const quoted = element("bdi", { class: "token", title: text }, text);
    const role = place === kind ? [] : [" ", span("kind", `(${kind})`)];
    return span(`place ${kind}`, `${place} ${i} "`, quoted, '"', ...role);
  }

  /**
   * The arithmetic of the pinned cell as a line of text, "" where none is pinned.
   * @param {Attention} attention @param {Pair} pin
   */
  said(attention, { q, k }) {
    if (q === null || k === null || !attention.has(q, k)) return "";
    const { score, scaled, bias, masked, weight } = attention.cell(q, k);
    const place = `${q} ${this.labels.query?.[q] ?? ""} → ${k} ${this.labels.key?.[k] ?? ""}`;
    if (!attention.operands) return `${place} · share: ${number(weight)}`;
    const isHidden = bias === -Infinity;
    const added = bias && !isHidden ? [`+ ${number(bias)} = ${number(masked)}`] : [];
    const chain = !isHidden
      ? [`× ${number(attention.header.scale)} = ${number(scaled)}`, ...added, `softmax: ${number(weight)}`]
      : [weight ? `masked: ${number(masked)}, softmax: ${number(weight)}` : "masked: 0"];
    return [place, `q · k = ${number(score)}`, ...chain].join(" · ");
  }

  /**
   * Announces a pin to screen readers; hovering is not announced.
   * @param {Attention} attention @param {Pair} pin @param {boolean} isCovered
   */
  announce(attention, { q, k }, isCovered) {
    /** @param {string} kind @param {number | null} i */
    const spoken = (kind, i) => `${kind} ${i} "${this.labels[kind]?.[i ?? -1] ?? ""}"`;
    if (q === null && k === null) {
      this.live.textContent = "Unpinned.";
    } else if (q !== null && k !== null && attention.has(q, k)) {
      const weight = isCovered ? "covered" : number(attention.cell(q, k).weight);
      this.live.textContent = `Pinned ${spoken("query", q)}, ${spoken("key", k)}: weight ${weight}.`;
    } else {
      this.live.textContent = `Pinned ${q === null ? spoken("key", k) : spoken("query", q)}.`;
    }
  }
}

/** @param {string} name @param {string} kind */
function field(name, kind) {
  const input = element("input", { type: "number", min: 0, step: 1, inputMode: "numeric", placeholder: "–" });
  return { input, root: element("label", { class: `field ${kind}` }, span("field-name", name), input) };
}
