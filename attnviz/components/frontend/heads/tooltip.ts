// The tooltip: names and numbers beside the pointer, as text nodes only.

import { element } from "../core/dom.ts";
import { weightText } from "../core/format.ts";
import { result, span, template, write } from "../core/template.ts";
import { tokenText } from "./words.ts";
import type { Child } from "../core/template.ts";

const AWAY = 14; // px from the pointer

export class Tooltip {
  root: HTMLElement;
  box = element("div", { class: "tooltip", role: "tooltip", hidden: true });
  at: { x: number; y: number } | null = null;

  constructor(root: HTMLElement) {
    this.root = root;
    root.append(this.box);
  }

  /** Keeps up with the pointer; the box itself moves when there is something to say. */
  follow({ clientX, clientY }: { clientX: number; clientY: number }) {
    this.at = { x: clientX, y: clientY };
  }

  /** Forgets the pointer: now keys are at work, and nothing belongs beside it. */
  leave() {
    this.at = null;
    this.hide();
  }

  /** Moves along where it is shown, and says whether it is. */
  keepsUp() {
    if (!this.box.hidden && this.at) this.place(this.at);
    return !this.box.hidden;
  }

  show(children: Child[]) {
    if (!this.at) return;
    write(this.box, ...children);
    this.box.hidden = false;
    this.place(this.at);
  }

  /** @param at the pointer */
  place(at: { x: number; y: number }) {
    const own = this.box.getBoundingClientRect();
    const frame = this.root.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    const right = at.x + AWAY + own.width < clientWidth;
    const below = at.y + AWAY + own.height < clientHeight;
    const x = right ? at.x + AWAY : at.x - AWAY - own.width;
    const y = below ? at.y + AWAY : at.y - AWAY - own.height;
    this.box.style.transform = `translate(${Math.max(4, x) - frame.left}px, ${Math.max(4, y) - frame.top}px)`;
  }

  hide() {
    this.box.hidden = true;
  }
}

/** A token as it is named in a sentence: its text, never markup, and its position. */
export const tokenOf = (kind: string, label: string, index: number) =>
  span(`token ${kind}`, ...tokenParts(label, index));

export const tokenParts = (label: string, index: number) => [
  span("text", tokenText(label)),
  span("position", String(index)),
];

export const swatch = (colour: string, title?: string) =>
  template("i", { class: "swatch", title, style: { background: colour } });

/** One line: a colour, a name and a number with as many digits as are certain, or why there is none. */
export function valueLine({
  colour,
  name,
  value,
  digits,
  missing,
}: {
  colour: string;
  name: string;
  value: number;
  digits: number;
  missing: string;
}) {
  const shown = Number.isNaN(value) ? span("none", missing) : result(value, weightText(value, digits));
  return template("div", { class: "value-line" }, swatch(colour), span("name", name), shown);
}
