// The board: matrices with labels on one canvas, arranged as a matrix product.
//
//   const board = new Board(root, { onPoint(at | null), onClick(at), onMove({query, key}) });
//   board.show(picture)                 a BoardPicture, see types/board.d.ts
//   board.light({ hovered, pinned })    the lit cell, and {query, key} that are pinned
//
// Without callbacks the board only draws, and picture.ts handles the pointer.

import { place } from "./layout.ts";
import { frameOf } from "./frame.ts";
import { BoardImages } from "./images.ts";
import { Morph } from "./morph.ts";
import { paintOperation, paintPlace } from "./paint.ts";
import { complete, describe } from "./panel.ts";
import { AxisViews } from "./view.ts";
import { BoardPointer } from "./pointer.ts";
import { onDensity } from "../core/density.ts";
import { contextOf, element, perFrame } from "../core/dom.ts";
import { boardPicture } from "../export/board.ts";
import { Overlay } from "./overlay.ts";
import { drawnPanels } from "./panels.ts";
import { RowsList } from "./rows_list.ts";
import type { RowTable } from "./row_table.ts";
import { namedIn } from "../marks/named.ts";
import { moved, Picture } from "./picture.ts";
import { leastType, measurer, typeFor } from "../core/type.ts";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const NOTHING: AxisPin = { query: null, key: null };

export interface BoardCallbacks {
  onPoint?: (at: Cell | null) => void;
  onClick?: (at: Cell) => void;
  onMove?: (to: AxisPin) => void;
}

export class Board {
  canvas = element("canvas", { "aria-hidden": "true" });
  element: HTMLDivElement;
  rows: RowsList = new RowsList(() => ({
    panels: this.shown?.panels ?? [],
    labels: this.labels,
    covers: this.covers,
  }));
  /** the chosen row as a table, once it was opened */
  table: RowTable | null = null;
  theme: Theme = "light";
  type: TypeSizes;
  font = "sans-serif";
  shown: BoardPicture<CompletePanel> | null = null;
  /** the picture that `places` belong to */
  placed: BoardPicture | null = null;
  places: Place[] | null = null;
  /** the size that they are for, in px */
  room = { width: 0, height: 0 };
  morph = new Morph();
  /** a step that is played */
  motion: BoardMotion | null = null;
  written: WrittenLabel[] = [];
  covers: ((panel: string) => IsCovered | null) | null = null;
  widths: { font: string; labels: Labels; of: WidthOf } | null = null;
  overlay: Overlay | null = null;
  picture: Picture | null = null;
  /** called when another cell is pinned */
  onHold: () => void = () => {};
  /** reveals a covered cell; says whether it was one */
  uncover: (at: Cell) => boolean = () => false;
  views = new AxisViews();
  images = new BoardImages();
  imageOf: (at: Place) => HTMLCanvasElement = (at) => this.images.of(at, this.theme, (end) => this.most(end));
  lights: { hovered: LitCell | null; pinned: AxisPin; named: Target | null; framed: Point[] } = {
    hovered: null,
    pinned: NOTHING,
    named: null,
    framed: [],
  };
  redraw: FrameTask = perFrame(() => this.drawNow());
  sizes: ResizeObserver = new ResizeObserver(() => this.resized());
  ends = new AbortController();
  pointer: BoardPointer;

  constructor(
    root: Element | ShadowRoot,
    { onPoint, onClick, onMove, className = "" }: BoardCallbacks & { className?: string } = {},
  ) {
    this.canvas.style.cssText = "position:absolute;inset:0;width:100%;height:100%";
    this.element = frameOf(this.canvas, className);
    this.element.attnviz = this;
    this.element.attnvizPicture = boardPicture(this);
    root.append(this.element, this.rows.root);
    this.type = typeFor();
    this.pointer = new BoardPointer(this);
    this.watch();
    if (onPoint || onClick) this.follow({ onPoint, onClick, onMove });
  }

  /** Draws again when the size, the pixel density or the font changes. */
  watch() {
    this.sizes.observe(this.element);
    onDensity(this.redraw, this.ends.signal);
    document.fonts?.ready.then(() => {
      this.widths = null;
      this.redraw();
    });
  }

  /** Handles the pointer and the keyboard itself, and highlights the cell. */
  follow({ onPoint, onClick, onMove }: BoardCallbacks) {
    this.overlay = new Overlay();
    this.picture = new Picture({
      find: () => this.element,
      onPoint: (at) => onPoint?.(at),
      onClick: (at) => onClick?.(at),
      onKey: (event) => {
        const to = onMove && moved(event, this.lights.pinned, this.labels);
        if (to) onMove?.(to);
      },
      onDrawn: () => this.drawLight(),
    });
  }

  show(picture: BoardPicture, { morph = false, backwards = false }: { morph?: boolean; backwards?: boolean } = {}) {
    const before = this.places;
    this.shown = { ...picture, panels: picture.panels.map(complete), away: picture.away?.map(complete) };
    this.element.setAttribute("aria-label", picture.alt ?? picture.panels.map((panel) => describe(panel)).join("; "));
    if (!morph || !before || STILL.matches) {
      this.morph.stop();
    } else this.morph.start(before, this.layOut(this.shown), backwards);
    this.placed = null;
    this.redraw.cancel();
    this.drawNow();
    this.rows.changed();
    this.table?.update();
  }

  /** @param given.framed cells that have a frame: [row, column] */
  light({
    hovered,
    pinned,
    named = null,
    framed = [],
  }: {
    hovered: LitCell | null;
    pinned: AxisPin | null;
    named?: Target | null;
    framed?: Point[];
  }) {
    Object.assign(this.lights, { hovered: hovered ?? null, named, framed });
    this.hold(pinned ?? NOTHING);
    this.drawLight();
  }

  /** Sets the pin. Zooming keeps it in view, and the view scrolls to a pin that moves. */
  hold(pinned: AxisPin) {
    const before = this.lights.pinned;
    const kinds = Object.keys({ ...before, ...pinned });
    if (kinds.every((kind) => (before[kind] ?? null) === (pinned[kind] ?? null))) return;
    this.lights.pinned = pinned;
    this.onHold();
    this.table?.update();
    if (!this.views.zoomed) return;
    for (const [kind, count] of this.kinds()) {
      const at = pinned[kind] ?? null;
      if (at !== null) this.views.reveal(kind, count, at);
    }
    this.viewChanged();
  }

  setTheme(theme: Theme) {
    if (theme === this.theme) return;
    this.theme = theme;
    this.images.clear();
    this.redraw();
  }

  /** Covers cells of a panel: `covers(name)` gives (i, j) -> whether it is covered. Null uncovers all. */
  cover(covers: ((panel: string) => IsCovered | null) | null) {
    if (covers || this.covers) this.rows.changed();
    this.covers = covers;
    this.table?.update();
    this.redraw();
  }

  /** Opens the chosen row as a table, or closes it; without the server it stays closed. */
  async toggleTable(opener: HTMLElement, takesFocus: boolean) {
    const { RowTable } = await import("./row_table.ts");
    if (!this.element.isConnected || !("popover" in opener)) return;
    this.table ??= new RowTable(this, opener);
    this.table.toggle(takesFocus);
  }

  destroy() {
    this.redraw.cancel();
    this.ends.abort();
    this.sizes.disconnect();
    this.picture?.destroy();
    this.overlay?.remove();
    this.pointer.destroy();
    this.rows.destroy();
    this.table?.destroy();
    this.element.remove();
  }

  // ---- geometry

  /** Draws for another size, before the page is painted; a new picture may have been drawn for it already. */
  resized() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (this.placed && width === this.room.width && height === this.room.height) return;
    this.placed = null;
    this.table?.update();
    this.drawNow();
  }

  layOut(picture: BoardPicture<CompletePanel>) {
    if (this.placed === picture && this.places) return this.places;
    const { clientWidth: width, clientHeight: height } = this.element;
    this.room = { width, height };
    this.font = getComputedStyle(this.element).fontFamily || "sans-serif";
    this.type = typeFor(leastType());
    const widthOf = this.measurer(`${this.type.label}px ${this.font}`);
    const span = (kind: string, count: number) => this.views.span(kind, count);
    this.placed = picture;
    this.places = place(picture, this.room, { widthOf, type: this.type, span });
    return this.places;
  }

  /** Measures labels and caches their widths: another head of a long text has the same 512 tokens. */
  measurer(font: string): WidthOf {
    const { labels, widths } = this;
    if (widths?.font === font && widths.labels === labels) return widths.of;
    const of = measurer(contextOf(this.canvas), font);
    this.widths = { font, labels, of };
    return of;
  }

  /** The matrices at their places, in the format of panels.ts, which is the same as for a Plotly graph. */
  panels(): DrawnPanel[] {
    if (!this.places || this.changing) return [];
    const { covers } = this;
    return drawnPanels(this.places, this.shown?.away ?? [], {
      covers,
      view: (kind, count) => this.views.of(kind, count),
    });
  }

  products(): Products {
    return this.shown?.products ?? {};
  }

  get labels(): Labels {
    return this.shown?.labels ?? {};
  }

  // ---- drawing

  /** @param how one of many frames in which the matrices stay in their places is quiet */
  drawNow({ isQuiet = false }: { isQuiet?: boolean } = {}) {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!this.shown || !width || !height) return;
    const places = this.layOut(this.shown);
    const density = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * density), Math.round(height * density)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      [this.canvas.width, this.canvas.height] = [wide, high];
    }
    const context = contextOf(this.canvas);
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    this.morph.advance();
    this.written = [];
    this.paint(context, { places: this.morph.places ?? places, written: this.written });
    if (!isQuiet) this.element.dispatchEvent(new Event("attnviz-drawn"));
    if (this.changing) this.redraw();
    else this.images.rest();
  }

  /** Whether a transition between two steps is running. */
  get changing() {
    return this.morph.pairs !== null;
  }

  /**
   * Draws the picture on a context with a canvas's methods, at `places` or at its places on the page.
   * `imageOf(place)` returns a matrix's cells as an image.
   */
  paint(
    context: Canvas2D,
    { theme = this.theme, places = this.places ?? [], imageOf = this.imageOf, written = [] }: PaintedAs = {},
  ) {
    const pen: BoardPen = {
      context,
      theme,
      font: this.font,
      type: this.type,
      labels: this.labels,
      always: this.shown?.always ?? {},
      view: (kind, count) => this.views.of(kind, count),
      written,
    };
    const motion = places.every(({ alpha }) => alpha === undefined) ? this.motion : null;
    for (const at of motion?.places(places) ?? places) {
      if (at.alpha === 0) continue;
      const covers = this.covers?.(at.panel.name) ?? null;
      paintPlace(pen, covers ? { ...at, covers } : at, imageOf(at));
    }
    if (motion?.paint(pen, places, imageOf)) return;
    if (places.every(({ alpha }) => alpha === undefined)) paintOperation(pen, this.shown, places);
  }

  /** The number of rows and columns that a matrix may have for the screen to show each of those in view. */
  most({ panel, width, height }: Place): CellCount {
    const [rows, cols] = panel.shape;
    const most = (kind: string, count: number, length: number) =>
      Math.max(1, (length * (window.devicePixelRatio || 1) * count) / this.views.span(kind, count));
    return { rows: most(panel.rows, rows, height), cols: most(panel.cols, cols, width) };
  }

  drawLight() {
    if (!this.overlay) return;
    const { hovered, pinned, named, framed } = this.lights;
    const any = Object.values(pinned).some((at) => at !== null);
    const panels = this.panels();
    this.overlay.draw({
      graph: this.element,
      panels,
      products: this.products(),
      labels: this.labels,
      hovered,
      pinned: any ? { kinds: pinned, operands: {}, at: null } : null,
      named: named && namedIn(named, panels),
      framed,
      theme: this.theme,
    });
  }

  /** Zooms all token axes by a factor, around the lit cell or the middle; the buttons and keys use it. */
  zoomBy(factor: number) {
    for (const [kind, count] of this.kinds()) {
      const [from, to] = this.views.of(kind, count);
      const at = this.lights.pinned[kind] ?? (from + to) / 2;
      this.views.zoom(kind, count, at + 0.5, factor);
    }
    this.viewChanged();
  }

  /** The kinds of axes whose tokens are labelled, with how many there are. */
  kinds() {
    const found: Map<string, number> = new Map();
    for (const { rows, cols, shape } of this.shown?.panels ?? []) {
      if (this.labels[rows]) found.set(rows, shape[0]);
      if (this.labels[cols]) found.set(cols, shape[1]);
    }
    return found;
  }

  viewChanged() {
    this.placed = null;
    this.element.style.touchAction = this.views.zoomed ? "none" : "pan-x pan-y";
    this.pointer.showReset(this.views.zoomed);
    this.redraw();
  }
}
