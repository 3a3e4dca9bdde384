// Tracks the picture, a board or a Plotly graph: finds it, finds it again when React replaces it, and converts pointer
// events to cells.
//
// Plotly's own hover event comes at most every 50 ms and depends on each trace's hoverinfo, so the pointer is read
// directly and the cell is computed from the axes.

import { perFrame } from "../core/dom.ts";
import { cellAt, readPanels, readProducts } from "./panels.ts";

const STILL = 5; // px: a press that moved further is a zoom or a pan, not a click
const DRAWN = ["plotly_afterplot", "plotly_relayout", "plotly_relayouting"];

export class Picture {
  find;
  onPoint;
  onKey;
  onClick;
  graph: HTMLElement | null = null;
  emitter: PlotlyEmitter | null = null;
  pointer: PointerEvent | null = null;
  hit: Cell | null = null;
  press: { event: PointerEvent; cell: Cell | null } | null = null;
  pressedAt = 0; // px, the height in the window of the last press
  pointing: AbortController | null = null;
  drawn: FrameTask;
  sizes: ResizeObserver;
  ends = new AbortController();
  watcher: MutationObserver;

  /**
   * `onPoint(cell | null)`, `onClick(cell)`, `onKey(event)` for keys pressed on a board, `onDrawn()` when the picture
   * or its place changed. `find()` gives the picture.
   */
  constructor({
    find,
    onPoint,
    onClick,
    onKey,
    onDrawn,
  }: {
    find: () => HTMLElement | null;
    onPoint: (at: Cell | null) => void;
    onClick: (at: Cell) => void;
    onKey: (event: KeyboardEvent) => void;
    onDrawn: () => void;
  }) {
    this.find = find;
    this.onPoint = onPoint;
    this.onKey = onKey;
    this.onClick = onClick;
    this.drawn = perFrame(() => {
      this.follow();
      if (this.pointer) this.onPoint(this.cellUnder(this.pointer));
      onDrawn();
    });
    this.sizes = new ResizeObserver(this.drawn);
    // Streamlit mounts and unmounts the chart as it likes; one comparison a frame keeps up with it.
    this.watcher = new MutationObserver(perFrame(() => this.follow()));
    this.watcher.observe(document.body, { childList: true, subtree: true });
    const { signal } = this.ends;
    window.addEventListener("pointerup", (event) => this.release(event), { signal, capture: true });
    window.addEventListener("pointermove", (event) => this.elsewhere(event), { signal, capture: true });
    window.addEventListener("resize", this.drawn, { signal });
    this.follow();
  }

  panels() {
    return readPanels(this.graph);
  }

  products() {
    return readProducts(this.graph);
  }

  /** Listens to the graph that is on the page now. A purged graph keeps its element but gets a new event emitter. */
  follow() {
    const graph = this.find();
    if (graph === this.graph && (graph?._ev ?? null) === this.emitter) return;
    if (graph !== this.graph) {
      this.pointing?.abort();
      this.sizes.disconnect();
      this.graph = graph;
      if (graph) this.listen(graph);
    }
    this.stopListening();
    this.emitter = graph?._ev ?? null;
    for (const name of DRAWN) this.emitter?.on(name, this.drawn);
    this.drawn();
  }

  stopListening() {
    for (const name of DRAWN) this.emitter?.removeListener(name, this.drawn);
  }

  listen(graph: HTMLElement) {
    this.pointing = new AbortController();
    const options = { signal: this.pointing.signal, capture: true };
    // Entering counts as well: the picture may move under a pointer that rests.
    for (const name of ["pointermove", "pointerover"] as const) {
      graph.addEventListener(name, (event) => this.move(event), options);
    }
    graph.addEventListener("pointerdown", (event) => this.hold(event), options);
    graph.addEventListener("pointerleave", (event) => isFinger(event) || this.leave(), {
      signal: this.pointing.signal,
    });
    graph.addEventListener("pointercancel", () => this.cancel(), options);
    graph.addEventListener("attnviz-drawn", this.drawn, options);
    if (graph.attnviz) graph.addEventListener("keydown", (event) => this.onKey(event), options);
    else this.sizes.observe(graph); // a board says itself that it was drawn for another size
  }

  cellUnder({ clientX, clientY, target }: PointerEvent) {
    if (!this.graph || (target instanceof Element && target.closest(".modebar"))) return null;
    const { left, top } = this.graph.getBoundingClientRect();
    return cellAt(this.panels(), clientX - left, clientY - top);
  }

  move(event: PointerEvent) {
    this.pointer = event;
    this.hit = this.cellUnder(event);
    this.onPoint(this.hit);
  }

  leave() {
    // Plotly lays a cover over the page while a button is down: the pointer leaves the graph without moving.
    if (this.press) return;
    this.pointer = null;
    this.onPoint(null);
  }

  /** Plotly's cover may lie in between, and then the graph gets no event when the pointer leaves it. */
  elsewhere(event: PointerEvent) {
    if (this.pointer && !isFinger(event) && this.graph && !event.composedPath().includes(this.graph)) this.leave();
  }

  /** A finger that scrolls the page neither points nor clicks. */
  cancel() {
    this.press = null;
    this.leave();
  }

  hold(event: PointerEvent) {
    this.move(event);
    this.pressedAt = event.clientY;
    this.press = event.button === 0 && event.isPrimary ? { event, cell: this.hit } : null;
  }

  release(event: PointerEvent) {
    const { press } = this;
    this.press = null;
    if (!press) return;
    const distance = Math.hypot(event.clientX - press.event.clientX, event.clientY - press.event.clientY);
    const isClick = press.cell !== null && distance <= STILL;
    if (isFinger(event)) this.pointer = null; // a finger that is lifted points nowhere; its cell stays what it tapped
    if (press.cell && isClick) this.onClick(press.cell);
    if (isFinger(event)) isClick || this.onPoint(null);
    else if (distance > STILL) this.move(event);
  }

  destroy() {
    this.ends.abort();
    this.pointing?.abort();
    this.watcher.disconnect();
    this.sizes.disconnect();
    this.drawn.cancel();
    this.stopListening();
  }
}

const isFinger = ({ pointerType }: PointerEvent) => pointerType === "touch";

const targetOf = ({ target }: Event) => (target instanceof Element ? target : null);

const ARROWS: Record<string, [kind: string, by: number]> = {
  ArrowUp: ["query", -1],
  ArrowDown: ["query", 1],
  ArrowLeft: ["key", -1],
  ArrowRight: ["key", 1],
};

/**
 * The pin {query, key} that a key press moves to, or null where it moves none: arrows move what is pinned, Enter pins
 * the first cell. What moves is taken from the page's own shortcuts.
 */
export function moved(event: KeyboardEvent, pin: AxisPin, labels: Labels): AxisPin | null {
  if (event.ctrlKey || event.metaKey || event.altKey || targetOf(event)?.closest("button")) return null;
  const free = pin.query === null && pin.key === null;
  const arrow = ARROWS[event.key];
  if (free ? event.key !== "Enter" : !arrow) return null;
  event.preventDefault();
  event.stopPropagation();
  if (free) return { query: 0, key: 0 };
  const [kind, by] = arrow;
  const last = (labels[kind]?.length ?? 1) - 1;
  return { query: pin.query ?? 0, key: pin.key ?? 0, [kind]: Math.min(Math.max((pin[kind] ?? 0) + by, 0), last) };
}
