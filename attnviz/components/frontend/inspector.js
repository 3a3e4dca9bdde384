// The inspector's entry point: Streamlit calls the default function with new data and at each change of theme.

import { Attention } from "./arithmetic.js";
import { perFrame, theme, typedInto } from "./dom.js";
import { Overlay } from "./overlay.js";
import { mounting } from "./mounting.js";
import { unpack } from "./packing.js";
import { findPanel } from "./panels.js";
import { moved, Picture } from "./picture.js";
import { NOTHING, Pin, samePin } from "./pin.js";
import { View } from "./view.js";

const SETTLE = 300; // ms: the arrow keys of a number field run through many cells, the server needs only the last
const COVERED = "Covered: what will stand here? Guess, then click the cell, or press R for the row or A for all.";

class Inspector {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.pinned = new Pin((message) => this.setTriggerValue("updates", message));
    /** @type {Cell | null} */
    this.hovered = null;
    /** @type {Cell | null} */
    this.clicked = null;
    /** @type {Attention | null} */
    this.attention = null;
    /** @type {string[]} */
    this.byCell = [];
    /** @type {SetTriggerValue} */
    this.setTriggerValue = () => {};
    /** @type {Theme} */
    this.theme = "light";
    this.overlay = new Overlay();
    this.draw = perFrame(() => this.drawNow());
    this.view = new View(root, {
      onPin: (pin) => this.setPin(pin, SETTLE),
      onUnpin: () => this.setPin(NOTHING, 0),
    });
    this.picture = new Picture({
      onPoint: (at) => this.point(at),
      onClick: (at) => this.click(at),
      onKey: (event) => this.arrow(event),
      onDrawn: this.draw,
    });
    this.ends = new AbortController();
    document.addEventListener("keydown", (event) => this.key(event), { signal: this.ends.signal });
  }

  /** @param {Uint8Array} data @param {SetTriggerValue} setTriggerValue @param {boolean} isNew */
  update(data, setTriggerValue, isNew) {
    this.setTriggerValue = setTriggerValue;
    if (isNew) {
      /** @type {Payload<InspectorHeader>} */
      const { header, arrays } = unpack(data);
      this.attention = new Attention(header, arrays);
      this.byCell = header.by_cell;
      this.pinned.take(header);
      this.view.setPayload(header, this.attention);
    }
    this.theme = theme(this.view.section);
    this.view.section.dataset.theme = this.theme;
    this.draw();
  }

  get pin() {
    return this.pinned.at;
  }

  /** @param {Pair} pin @param {number} wait */
  setPin(pin, wait) {
    if (!this.attention || !this.pinned.set(pin, wait)) return;
    this.view.announce(this.attention, pin);
    this.draw();
  }

  /** @param {Cell | null} at */
  point(at) {
    if (at?.panel === this.hovered?.panel && at?.i === this.hovered?.i && at?.j === this.hovered?.j) return;
    this.hovered = at;
    if (!at) this.clicked = null;
    this.draw();
  }

  /** @param {Cell} at */
  click(at) {
    if (this.picture.graph?.attnviz?.uncover(at)) return; // a guess is revealed, not pinned
    const pin = { ...this.pin };
    if (at.cols === "query") pin.q = at.j;
    if (at.cols === "key") pin.k = at.j;
    if (at.rows === "query") pin.q = at.i;
    if (at.rows === "key") pin.k = at.i;
    if (at.rows !== "query" && at.rows !== "key" && at.cols !== "query" && at.cols !== "key") return;
    const whole = [at.rows, at.cols].includes("query") && [at.rows, at.cols].includes("key");
    // In a panel with one token axis another cell of the pinned row is no request to unpin it.
    const again = samePin(pin, this.pin) && (whole || sameCell(at, this.clicked));
    this.clicked = at;
    this.setPin(again ? NOTHING : pin, 0);
  }

  /**
   * Arrow keys on the board move the pin; the server hears of the last of many.
   * @param {KeyboardEvent} event
   */
  arrow(event) {
    const to = moved(event, { query: this.pin.q, key: this.pin.k }, this.view.labels);
    if (!to) return;
    this.hovered = null;
    this.setPin({ q: to.query, k: to.key }, SETTLE);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const typing = typedInto(event);
    const elsewhere = typing && !this.view.section.contains(typing);
    if (event.key === "Escape" && !event.defaultPrevented && !elsewhere) this.setPin(NOTHING, 0);
  }

  drawNow() {
    const { attention } = this;
    if (!attention) return;
    const { graph } = this.picture;
    graph?.attnviz?.hold({ query: this.pin.q, key: this.pin.k });
    const panels = this.picture.panels();
    const products = this.picture.products();
    const panel = this.hovered && findPanel(panels, this.hovered);
    const at = panel && this.hovered;
    this.overlay.draw({
      graph,
      panels,
      products,
      labels: this.view.labels,
      hovered: at,
      pinned: this.pinned.any ? { kinds: { query: this.pin.q, key: this.pin.k }, operands: {}, at: null } : null,
      theme: this.theme,
    });
    // After the light over the picture, which reads the picture's size.
    this.showCell(attention, { at, panel, panels, products });
  }

  /**
   * @param {Attention} attention
   * @param {{ at: Cell | null, panel: DrawnPanel | null, panels: DrawnPanel[], products: Products }} pointed
   */
  showCell(attention, { at, panel, panels, products }) {
    const { view, pin } = this;
    view.setPin(pin);
    const covered = panels.find((one) => one.covered);
    const [row, column] = at ? [at.i, at.j] : [pin.q, pin.k];
    const guessed = row !== null && column !== null && covered?.covered?.(row, column);
    if (guessed && (!at || at.panel === covered?.name)) {
      view.showHint(pin, COVERED);
      return;
    }
    if (!at || !panel) {
      const { q, k } = pin;
      if (q !== null && k !== null && attention.has(q, k)) view.showChain(attention, q, k, "pinned");
      else view.showRow(attention, pin);
      return;
    }
    const [q, k] = at.rows === "query" ? [at.i, at.j] : [at.j, at.i];
    const whole = [at.rows, at.cols].sort().join() === "key,query";
    const chained = whole && attention.has(q, k) && this.byCell.includes(panel.name);
    const isPin = samePin({ q, k }, pin);
    if (chained) view.showChain(attention, q, k, isPin ? "pinned" : "pointer");
    else view.showProduct({ at, panel, panels, products });
  }

  destroy() {
    this.pinned.destroy();
    this.ends.abort();
    this.draw.cancel();
    this.picture.destroy();
    this.overlay.remove();
    this.view.section.remove();
  }
}

/** @param {Cell} a @param {Cell | null} b */
const sameCell = (a, b) => b !== null && a.panel === b.panel && a.i === b.i && a.j === b.j;

export default mounting((root) => new Inspector(root));
