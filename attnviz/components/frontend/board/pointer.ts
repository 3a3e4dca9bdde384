// Zooming and scrolling a board: the wheel, two fingers, dragging, three buttons and the keys + − 0. A fourth button
// opens the chosen row as a table.

import { element } from "../core/dom.ts";
import { cellAt } from "./panels.ts";
import type { Board } from "./board.ts";

const STEP = 1.6; // one press of a button
const STILL = 5; // px: a press that moved less is a click

export class BoardPointer {
  board;
  fingers = new Map<number, Point>();
  /** where the first finger was put */
  panel: DrawnPanel | null = null;
  travelled = 0; // px
  ends = new AbortController();
  whole: HTMLButtonElement = button("⤢", "Show all (0)", () => this.reset());

  constructor(board: Board) {
    this.board = board;
    const { signal } = this.ends;
    const root = board.element;
    root.addEventListener("wheel", (event) => this.wheel(event), { signal, passive: false });
    root.addEventListener("pointerdown", (event) => this.down(event), { signal });
    root.addEventListener("pointermove", (event) => this.move(event), { signal });
    for (const name of ["pointerup", "pointercancel", "pointerleave"] as const) {
      root.addEventListener(name, (event) => this.fingers.delete(event.pointerId), { signal });
    }
    root.addEventListener("keydown", (event) => this.key(event), { signal });
    this.whole.hidden = true;
    root.append(this.makeButtons());
  }

  makeButtons() {
    const table = button("≡", "The chosen row as a table", ({ detail }) => {
      void this.board.toggleTable(table, detail === 0).catch(() => {});
    });
    table.setAttribute("aria-expanded", "false");
    const box = element(
      "div",
      { class: "attnviz-zoom modebar" },
      button("+", "Zoom in (+), or Ctrl and the wheel", () => this.board.zoomBy(1 / STEP)),
      button("−", "Zoom out (−)", () => this.board.zoomBy(STEP)),
      this.whole,
      table,
    );
    box.style.cssText =
      "position:absolute;top:10px;right:0;display:var(--chrome,flex);flex-direction:column;z-index:6;opacity:0.6";
    return box;
  }

  showReset(zoomed: boolean) {
    this.whole.hidden = !zoomed;
  }

  reset() {
    this.board.views.reset();
    this.board.viewChanged();
  }

  at({ clientX, clientY }: MouseEvent): Point {
    const { left, top } = this.board.element.getBoundingClientRect();
    return [clientX - left, clientY - top];
  }

  /** The matrix under a point, else the one nearest to it. */
  panelUnder(point: Point) {
    const panels = this.board.panels();
    const hit = cellAt(panels, ...point);
    return panels.find(({ name }) => name === hit?.panel) ?? null;
  }

  wheel(event: WheelEvent) {
    const point = this.at(event);
    const panel = this.panelUnder(point);
    if (!panel) return;
    const zoomIn = event.ctrlKey || event.metaKey;
    if (zoomIn) this.zoom(panel, point, Math.exp(event.deltaY * 0.004));
    else if (!this.pan(panel, event.shiftKey ? event.deltaY : event.deltaX, event.shiftKey ? 0 : event.deltaY)) return;
    event.preventDefault();
    this.board.viewChanged();
  }

  zoom(panel: DrawnPanel, [x, y]: number[], factor: number) {
    const { views } = this.board;
    views.zoom(panel.cols, panel.width, panel.x.p2l(x - panel.x._offset) + 0.5, factor);
    views.zoom(panel.rows, panel.height, panel.y.p2l(y - panel.y._offset) + 0.5, factor);
  }

  /** Scrolls the view by pixels; returns whether it moved. */
  pan(panel: DrawnPanel, dx: number, dy: number) {
    const { views } = this.board;
    const cells = (axis: Axis, kind: string, count: number, pixels: number) =>
      (pixels / axis._length) * views.span(kind, count);
    const across = dx !== 0 && views.scroll(panel.cols, panel.width, cells(panel.x, panel.cols, panel.width, dx));
    const down = dy !== 0 && views.scroll(panel.rows, panel.height, cells(panel.y, panel.rows, panel.height, dy));
    return across || down;
  }

  down(event: PointerEvent) {
    const point = this.at(event);
    this.fingers.set(event.pointerId, point);
    this.panel = this.panelUnder(point);
    this.travelled = 0;
  }

  move(event: PointerEvent) {
    const before = this.fingers.get(event.pointerId);
    if (!before || !this.panel || event.buttons === 0) return;
    const now = this.at(event);
    const others = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    const { name: held } = this.panel;
    const panel = this.board.panels().find(({ name }) => name === held);
    this.fingers.set(event.pointerId, now);
    if (!panel) return;
    if (others.length) {
      const spread = (point: Point) => Math.hypot(point[0] - others[0][0], point[1] - others[0][1]) || 1;
      this.zoom(
        panel,
        now.map((x, i) => (x + others[0][i]) / 2),
        spread(before) / spread(now),
      );
    } else {
      const [dx, dy] = [before[0] - now[0], before[1] - now[1]];
      this.travelled += Math.hypot(dx, dy);
      if (this.travelled <= STILL || !this.pan(panel, dx, dy)) return;
    }
    this.board.viewChanged();
  }

  key(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") this.board.zoomBy(1 / STEP);
    else if (event.key === "-") this.board.zoomBy(STEP);
    else if (event.key === "0") this.reset();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  destroy() {
    this.ends.abort();
  }
}

function button(text: string, title: string, act: (event: MouseEvent) => void) {
  const made = element("button", { type: "button", title, "aria-label": title }, text);
  made.style.cssText =
    "border:0;background:none;color:inherit;font:600 15px/1 inherit;width:24px;height:24px;padding:0;" +
    "cursor:pointer;border-radius:4px";
  made.addEventListener("click", (event) => {
    event.stopPropagation();
    act(event);
  });
  made.addEventListener("pointerdown", (event) => event.stopPropagation());
  return made;
}
