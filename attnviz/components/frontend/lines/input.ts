// Mouse, touch and keyboard input on the lines. Scrolling is left to the browser.

import type { Layout } from "./layout.ts";

const PAGE = 10; // tokens

/** Which way a key goes: along a side of tokens, or across to the other side. */
const ARROWS: Record<string, { along: Record<string, number>; across: Record<string, number> }> = {
  vertical: { along: { ArrowUp: -1, ArrowDown: 1 }, across: { ArrowLeft: 0, ArrowRight: 1 } },
  horizontal: { along: { ArrowLeft: -1, ArrowRight: 1 }, across: { ArrowUp: 0, ArrowDown: 1 } },
};
const FAR: Record<string, number> = { PageUp: -PAGE, PageDown: PAGE, Home: -Infinity, End: Infinity };

export class Input {
  element: HTMLElement;
  hit;
  start;
  layout;
  point;
  walk;
  pick;
  cursor: Token | null = null;
  mouse: { clientX: number; clientY: number } | null = null;
  ends = new AbortController();

  /**
   * `hit(x, y)` and `start()` give a token {side, index} or null, `layout()` what is drawn.
   * Calls `point(token | null)`, `walk(token | null)` for the keyboard's token and `pick(token)`.
   */
  constructor(
    element: HTMLElement,
    {
      hit,
      start,
      layout,
      point,
      walk,
      pick,
    }: {
      hit: (x: number, y: number) => Token | null;
      start: () => Token | null;
      layout: () => Layout | null;
      point: (token: Token | null) => void;
      walk: (token: Token | null) => void;
      pick: (token: Token) => void;
    },
  ) {
    this.element = element;
    this.hit = hit;
    this.start = start;
    this.layout = layout;
    this.point = point;
    this.walk = walk;
    this.pick = pick;
    const on = <Name extends keyof HTMLElementEventMap>(
      name: Name,
      work: (event: HTMLElementEventMap[Name]) => void,
      options: { passive?: boolean } = {},
    ) => element.addEventListener(name, work, { ...options, signal: this.ends.signal });
    on("pointermove", (event) => this.move(event));
    on("pointerleave", (event) => this.leave(event));
    on("click", (event) => this.click(event as PointerEvent));
    on("keydown", (event) => this.key(event));
    on("blur", () => this.go(null));
    on("wheel", (event) => this.wheel(event), { passive: false });
  }

  token({ clientX, clientY }: { clientX: number; clientY: number }) {
    const { left, top } = this.element.getBoundingClientRect();
    return this.hit(clientX - left - this.element.clientLeft, clientY - top - this.element.clientTop);
  }

  move(event: PointerEvent) {
    if (event.pointerType === "touch") return; // a finger that moves scrolls
    this.mouse = { clientX: event.clientX, clientY: event.clientY };
    const token = this.token(event);
    this.element.style.cursor = token ? "pointer" : "";
    this.point(token);
  }

  /** The picture moved under a pointer that rests. */
  moved() {
    if (this.mouse) this.point(this.token(this.mouse));
  }

  leave(event: PointerEvent) {
    if (event.pointerType === "touch") return;
    this.mouse = null;
    this.point(null);
  }

  click(event: PointerEvent) {
    const token = this.token(event);
    if (event.pointerType === "touch") this.point(token);
    if (token) this.pick(token);
  }

  key(event: KeyboardEvent) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const name = event.key;
    const layout = this.layout();
    if (!layout) return;
    if (name === "Escape" && this.cursor) this.go(null);
    else if ((name === "Enter" || name === " ") && this.cursor) this.pick(this.cursor);
    else if (!this.step(name, layout)) return;
    event.preventDefault();
  }

  /** Moves the keyboard's token; says whether this key does so. */
  step(name: string, { vertical, counts }: Layout) {
    const { along, across } = ARROWS[vertical ? "vertical" : "horizontal"];
    const by = along[name] ?? FAR[name];
    if (by === undefined && across[name] === undefined) return false;
    if (!this.cursor) this.go(this.start());
    else {
      const side = across[name] ?? this.cursor.side;
      const index = Math.min(Math.max(this.cursor.index + (by ?? 0), 0), counts[side] - 1);
      if (index >= 0) this.go({ side, index });
    }
    return true;
  }

  go(token: Token | null) {
    if (!token && !this.cursor) return;
    this.cursor = token;
    this.walk(token);
  }

  /** A wheel that turns one way only scrolls a horizontal picture too, until its end. */
  wheel(event: WheelEvent) {
    const layout = this.layout();
    if (!layout || layout.vertical || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    const before = this.element.scrollLeft;
    this.element.scrollLeft += event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    if (this.element.scrollLeft !== before) event.preventDefault();
  }

  destroy() {
    this.ends.abort();
  }
}
