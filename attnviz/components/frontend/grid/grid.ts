// All layers × heads as thumbnails on one canvas. Frames around hovered and chosen heads are separate elements, so the
// thumbnails are not redrawn.

import { ROWS_AND_COLUMNS } from "../core/constants.ts";
import { onDensity } from "../core/density.ts";
import { element } from "../core/dom.ts";
import { gridPicture } from "../export/grid.ts";
import { headAt, numberOf } from "../heads/choice.ts";
import { boxAt, layOut, paintGrid, placeAt } from "./paint.ts";
import { leastType } from "../core/type.ts";
import type { GridLayout, Thumbnails } from "./paint.ts";

/** what the grid shows */
export interface GridState extends Thumbnails {
  /** px of height; any if not given */
  most?: number;
  /** px of a thumbnail's side at most; it grows with the type */
  mostSide?: number;
  chosen: { head: HeadId; colour: string }[];
  current: HeadId;
  /** what brackets and bars mean, for an exported picture */
  note?: string;
  /** all about a head in one line */
  describe: (head: HeadId) => string;
}

let grids = 0; // of the page, for ids that differ

export class Grid {
  onChoose;
  onHover;
  canvas = element("canvas", { "aria-hidden": "true" });
  ring = element("div", { class: "ring hovered", hidden: true });
  focus = element("div", { class: "ring focus" });
  marks = element("div", { class: "marks", "aria-hidden": "true" }, this.focus, this.ring);
  cell: HTMLDivElement;
  row: HTMLDivElement;
  element: HTMLDivElement;
  frames: HTMLElement[] = [];
  /** where the keyboard is */
  active: HeadId = [0, 0];
  hovered: HeadId | null = null;
  given: GridState | null = null;
  layout: GridLayout | null = null;
  sizes: ResizeObserver = new ResizeObserver(() => this.fit());
  ends = new AbortController();
  room: HTMLElement;

  /**
   * `onChoose(head, how)`: how is "only" (this one), "add" (beside the others) or "toggle".
   * `onHover(head | null)`.
   */
  constructor(
    root: HTMLElement,
    {
      onChoose,
      onHover,
    }: { onChoose: (head: HeadId, how: HowToChoose) => void; onHover: (head: HeadId | null) => void },
  ) {
    this.onChoose = onChoose;
    this.onHover = onHover;
    this.cell = element("div", { role: "gridcell", id: `active-head-${(grids += 1)}` });
    this.row = element("div", { role: "row", class: "spoken" }, this.cell);
    this.element = element("div", { class: "grid", role: "grid", tabIndex: 0 }, this.canvas, this.marks, this.row);
    const properties = {
      "aria-label": `All layers and heads. ${ROWS_AND_COLUMNS}`,
      "aria-multiselectable": "true",
      "aria-activedescendant": this.cell.id,
    };
    for (const [name, value] of Object.entries(properties)) this.element.setAttribute(name, value);
    this.element.attnvizPicture = gridPicture(this);
    root.append(this.element);
    this.sizes.observe(root);
    onDensity(() => this.fit(), this.ends.signal);
    this.room = root;
    document.fonts?.ready.then(() => this.fit()); // labels are written with what has come by then
    this.listen();
  }

  listen() {
    this.element.addEventListener("pointermove", (event) => this.point(event));
    this.element.addEventListener("pointerleave", () => this.pointAt(null));
    this.element.addEventListener("click", (event) => this.click(event));
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  update(given: GridState) {
    const before = this.given;
    this.given = given;
    const moved = !before || before.current[0] !== given.current[0] || before.current[1] !== given.current[1];
    if (moved) this.active = given.current;
    if (!before || String(before.layers) !== String(given.layers)) this.fit();
    else if (PAINTED.some((name) => before[name] !== given[name])) this.fit();
    else this.markChosen();
    this.speak();
  }

  fit() {
    if (!this.given || !this.room.clientWidth) return; // not shown yet
    const { layers, heads, order, most, mostSide } = this.given;
    const layout = layOut({
      layers: layers.length,
      heads,
      width: this.room.clientWidth,
      most,
      mostSide,
      ranked: Boolean(order),
      least: leastType(),
    });
    this.layout = layout;
    Object.assign(this.element.style, { width: `${layout.width}px`, height: `${layout.height}px` });
    this.element.setAttribute("aria-rowcount", String(layout.rows));
    this.element.setAttribute("aria-colcount", String(layout.columns));
    this.paintNow(this.given, layout);
    this.markChosen();
    this.speak();
  }

  paintNow({ layers, heads, order, faded, overview, theme, sharedBy, local }: GridState, layout: GridLayout) {
    const font = getComputedStyle(this.element).fontFamily || "sans-serif";
    const density = window.devicePixelRatio || 1;
    const looks = { layout, layers, heads, order, faded, overview, theme, sharedBy, local, density, font };
    paintGrid(this.canvas, looks);
  }

  // ---- frames over the thumbnails

  /** Where a head stands, counted row by row; null for what is no thumbnail (attention rollout). */
  placeOf(head: HeadId) {
    if (head[1] < 0 || !this.given?.layers.includes(head[0])) return null;
    const n = numberOf(this.given, head);
    return this.given.order ? this.given.order.indexOf(n) : n;
  }

  headAt(place: number): HeadId {
    const { order = null, layers = [0], heads = 1 } = this.given ?? {};
    return headAt({ layers, heads }, order ? order[place] : place);
  }

  markChosen() {
    if (!this.layout || !this.given) return;
    const { current } = this.given;
    const seen = this.given.chosen.filter(({ head }) => head[1] >= 0);
    while (this.frames.length < seen.length) {
      this.frames.push(this.marks.appendChild(element("div", { class: "ring chosen" })));
    }
    this.frames.forEach((frame, n) => {
      frame.hidden = n >= seen.length;
      if (frame.hidden) return;
      frame.style.color = seen[n].colour;
      frame.classList.toggle("current", same(seen[n].head, current));
      this.put(frame, seen[n].head);
    });
    this.put(this.focus, this.active);
  }

  put(frame: HTMLElement, head: HeadId) {
    const place = this.placeOf(head);
    frame.style.visibility = place === null ? "hidden" : "visible";
    if (place === null || !this.layout) return;
    const { x, y, side } = boxAt(this.layout, place);
    frame.style.transform = `translate(${x}px, ${y}px)`;
    frame.style.width = `${side}px`;
    frame.style.height = `${side}px`;
  }

  speak() {
    if (!this.layout || !this.given) return;
    const { chosen, describe } = this.given;
    const place = this.placeOf(this.active) ?? 0;
    const { columns } = this.layout;
    this.row.setAttribute("aria-rowindex", String(Math.floor(place / columns) + 1));
    this.cell.setAttribute("aria-colindex", String((place % columns) + 1));
    this.cell.setAttribute("aria-selected", String(chosen.some(({ head }) => same(head, this.active))));
    this.cell.setAttribute("aria-label", describe(this.active));
  }

  // ---- pointer and keys

  point(event: PointerEvent) {
    if (event.pointerType === "touch") return; // a finger chooses, it does not point
    this.pointAt(this.under(event));
  }

  under({ clientX, clientY }: { clientX: number; clientY: number }) {
    if (!this.layout) return null;
    const { left, top } = this.element.getBoundingClientRect();
    const place = placeAt(this.layout, clientX - left, clientY - top);
    return place === null ? null : this.headAt(place);
  }

  pointAt(head: HeadId | null) {
    if (!head !== !this.hovered || (head && !same(head, this.hovered))) {
      this.ring.hidden = !head;
      if (head) this.put(this.ring, head);
    }
    this.hovered = head;
    this.onHover(head);
  }

  click(event: MouseEvent) {
    const head = this.under(event);
    if (!head) return;
    this.active = head;
    this.onChoose(head, event.ctrlKey || event.metaKey || event.shiftKey ? "toggle" : "only");
  }

  key(event: KeyboardEvent) {
    if (!this.layout) return;
    const { columns, count } = this.layout;
    const place = this.placeOf(this.active) ?? 0;
    const first = place - (place % columns);
    const last = Math.min(first + columns, count) - 1;
    const steps: Record<string, number> = {
      ArrowLeft: Math.max(place - 1, first),
      ArrowRight: Math.min(place + 1, last),
      ArrowUp: place - columns < 0 ? place : place - columns,
      ArrowDown: place + columns < count ? place + columns : place,
      Home: first,
      End: last,
    };
    if (event.key in steps) this.go(this.headAt(steps[event.key]), event);
    else if (event.key === " ") this.toggle(this.active);
    else if (event.key === "Enter") this.onChoose(this.active, "only");
    else return;
    event.preventDefault();
  }

  /** Arrow keys choose; with Shift they add, with Ctrl they only go there. */
  go(head: HeadId, event: KeyboardEvent) {
    this.active = head;
    if (event.ctrlKey || event.metaKey) {
      this.put(this.focus, head);
      this.speak();
    } else this.onChoose(head, event.shiftKey ? "add" : "only");
  }

  /** After a head is removed, the focus stays where it was, though another head is then current. */
  toggle(head: HeadId) {
    this.onChoose(head, "toggle");
    this.active = head;
    this.put(this.focus, head);
    this.speak();
  }

  destroy() {
    this.ends.abort();
    this.sizes.disconnect();
    this.element.remove();
  }
}

const PAINTED: (keyof GridState)[] = ["heads", "overview", "order", "faded", "theme", "most", "sharedBy"];

const same = (a: HeadId | null, b: HeadId | null) => a !== null && b !== null && a[0] === b[0] && a[1] === b[1];
