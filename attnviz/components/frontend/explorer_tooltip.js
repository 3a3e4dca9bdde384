// The tooltip: names and numbers beside the pointer, as text nodes only.

import { element, result, span } from "./dom.js";
import { tokenText, weightText } from "./explorer_words.js";

const AWAY = 14; // px from the pointer

export class Tooltip {
  constructor(root) {
    this.root = root;
    this.box = element("div", { class: "tooltip", role: "tooltip", hidden: true });
    root.append(this.box);
    this.at = null;
  }

  /** Keeps up with the pointer; the box itself moves when there is something to say. */
  follow({ clientX, clientY }) {
    this.at = { x: clientX, y: clientY };
  }

  /** Forgets the pointer: now keys are at work, and nothing belongs beside it. */
  leave() {
    this.at = null;
    this.hide();
  }

  /** Moves along where it is shown, and says whether it is. */
  keepsUp() {
    if (!this.box.hidden && this.at) this.place();
    return !this.box.hidden;
  }

  show(children) {
    if (!this.at) return;
    this.box.replaceChildren(...children);
    this.box.hidden = false;
    this.place();
  }

  place() {
    const own = this.box.getBoundingClientRect();
    const frame = this.root.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    const right = this.at.x + AWAY + own.width < clientWidth;
    const below = this.at.y + AWAY + own.height < clientHeight;
    const x = right ? this.at.x + AWAY : this.at.x - AWAY - own.width;
    const y = below ? this.at.y + AWAY : this.at.y - AWAY - own.height;
    this.box.style.transform = `translate(${Math.max(4, x) - frame.left}px, ${Math.max(4, y) - frame.top}px)`;
  }

  hide() {
    this.box.hidden = true;
  }
}

/** A token as it is named in a sentence: its text, never markup, and its position. */
export function tokenNode(kind, label, index) {
  return span(`token ${kind}`, span("text", tokenText(label)), span("position", String(index)));
}

/** One line: a colour, a name and a number with as many digits as are certain, or why there is none. */
export function valueLine({ colour, name, value, digits, missing }) {
  const shown = Number.isNaN(value) ? span("none", missing) : result(value, weightText(value, digits));
  return element(
    "div",
    { class: "value-line" },
    element("i", { class: "swatch", style: `background:${colour}` }),
    span("name", name),
    shown,
  );
}
