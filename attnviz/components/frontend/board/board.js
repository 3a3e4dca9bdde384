// The board: matrices with labels on one canvas, arranged as a matrix product.
//
//   const board = new Board(root, { onPoint(at | null), onClick(at), onMove({query, key}) });
//   board.show(picture)                 a BoardPicture, see types/board.d.ts
//   board.light({ hovered, pinned })    the lit cell, and {query, key} that are pinned
//
// Without callbacks the board only draws, and picture.js handles the pointer.

import { place } from "./layout.js";
import { frameOf } from "./frame.js";
import { BoardImages } from "./images.js";
import { Morph } from "./morph.js";
import { paintOperation, paintPlace } from "./paint.js";
import { complete, describe } from "./panel.js";
import { AxisViews } from "./view.js";
import { BoardPointer } from "./pointer.js";
import { onDensity } from "../core/density.js";
import { contextOf, element, perFrame } from "../core/dom.js";
import { boardPicture } from "../export/board.js";
import { Overlay } from "./overlay.js";
import { drawnPanels } from "./panels.js";
import { namedIn } from "../marks/named.js";
import { moved, Picture } from "./picture.js";
import { leastType, measurer, typeFor } from "../core/type.js";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
/** @type {AxisPin} */
const NOTHING = { query: null, key: null };

/**
 * @typedef {object} BoardCallbacks
 * @property {(at: Cell | null) => void} [onPoint]
 * @property {(at: Cell) => void} [onClick]
 * @property {(to: AxisPin) => void} [onMove]
 */

export class Board {
  /** @param {Element | ShadowRoot} root @param {BoardCallbacks & { className?: string }} does */
  constructor(root, { onPoint, onClick, onMove, className = "" } = {}) {
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.canvas.style.cssText = "position:absolute;inset:0;width:100%;height:100%";
    this.element = frameOf(this.canvas, className);
    this.element.attnviz = this;
    this.element.attnvizPicture = boardPicture(this);
    root.append(this.element);
    /** @type {Theme} */
    this.theme = "light";
    this.type = typeFor();
    this.font = "sans-serif";
    /** @type {BoardPicture<CompletePanel> | null} */
    this.shown = null;
    /** @type {BoardPicture | null} the picture that `places` belong to */
    this.placed = null;
    /** @type {Place[] | null} */
    this.places = null;
    this.morph = new Morph();
    /** @type {BoardMotion | null} a step that is played */
    this.motion = null;
    /** @type {WrittenLabel[]} */
    this.written = [];
    /** @type {((panel: string) => IsCovered | null) | null} */
    this.covers = null;
    /** @type {{ font: string, labels: Labels, of: WidthOf } | null} */
    this.widths = null;
    /** @type {Overlay | null} */
    this.overlay = null;
    /** @type {Picture | null} */
    this.picture = null;
    /** @type {() => void} called when another cell is pinned */
    this.onHold = () => {};
    /** @type {(at: Cell) => boolean} reveals a covered cell; says whether it was one */
    this.uncover = () => false;
    this.views = new AxisViews();
    this.images = new BoardImages();
    /** @type {(at: Place) => HTMLCanvasElement} */
    this.imageOf = (at) => this.images.of(at, this.theme, (end) => this.most(end));
    /** @type {{ hovered: LitCell | null, pinned: AxisPin, named: Target | null }} */
    this.lights = { hovered: null, pinned: NOTHING, named: null };
    this.redraw = perFrame(() => this.drawNow());
    this.sizes = new ResizeObserver(() => this.resized());
    this.ends = new AbortController();
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

  /**
   * Handles the pointer and the keyboard itself, and highlights the cell.
   * @param {BoardCallbacks} does
   */
  follow({ onPoint, onClick, onMove }) {
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

  /** @param {BoardPicture} picture @param {{ morph?: boolean, backwards?: boolean }} motion */
  show(picture, { morph = false, backwards = false } = {}) {
    const before = this.places;
    this.shown = { ...picture, panels: picture.panels.map(complete), away: picture.away?.map(complete) };
    this.element.setAttribute("aria-label", picture.alt ?? picture.panels.map(describe).join("; "));
    if (!morph || !before || STILL.matches) {
      this.morph.stop();
    } else this.morph.start(before, this.layOut(this.shown), backwards);
    this.placed = null;
    this.redraw.cancel();
    this.drawNow();
  }

  /** @param {{ hovered: LitCell | null, pinned: AxisPin | null, named?: Target | null }} lights */
  light({ hovered, pinned, named = null }) {
    this.lights.hovered = hovered ?? null;
    this.lights.named = named;
    this.hold(pinned ?? NOTHING);
    this.drawLight();
  }

  /**
   * Sets the pin. Zooming keeps it in view, and the view scrolls to a pin that moves.
   * @param {AxisPin} pinned
   */
  hold(pinned) {
    const before = this.lights.pinned;
    if (before.query === pinned.query && before.key === pinned.key) return;
    this.lights.pinned = pinned;
    this.onHold();
    if (!this.views.zoomed) return;
    for (const [kind, count] of this.kinds()) {
      const at = pinned[kind] ?? null;
      if (at !== null) this.views.reveal(kind, count, at);
    }
    this.viewChanged();
  }

  /** @param {Theme} theme */
  setTheme(theme) {
    if (theme === this.theme) return;
    this.theme = theme;
    this.images.clear();
    this.redraw();
  }

  /**
   * Covers cells of a panel: `covers(name)` gives (i, j) -> whether it is covered. Null uncovers all.
   * @param {((panel: string) => IsCovered | null) | null} covers
   */
  cover(covers) {
    this.covers = covers;
    this.redraw();
  }

  destroy() {
    this.redraw.cancel();
    this.ends.abort();
    this.sizes.disconnect();
    this.picture?.destroy();
    this.overlay?.remove();
    this.pointer.destroy();
    this.element.remove();
  }

  // ---- geometry

  resized() {
    this.placed = null;
    this.redraw();
  }

  /** @param {BoardPicture<CompletePanel>} picture */
  layOut(picture) {
    if (this.placed === picture && this.places) return this.places;
    const { clientWidth: width, clientHeight: height } = this.element;
    this.font = getComputedStyle(this.element).fontFamily || "sans-serif";
    this.type = typeFor(leastType());
    const widthOf = this.measurer(`${this.type.label}px ${this.font}`);
    const span = (/** @type {string} */ kind, /** @type {number} */ count) => this.views.span(kind, count);
    this.placed = picture;
    this.places = place(picture, { width, height }, { widthOf, type: this.type, span });
    return this.places;
  }

  /**
   * Measures labels and caches their widths: another head of a long text has the same 512 tokens.
   * @param {string} font @returns {WidthOf}
   */
  measurer(font) {
    const { labels, widths } = this;
    if (widths?.font === font && widths.labels === labels) return widths.of;
    const of = measurer(contextOf(this.canvas), font);
    this.widths = { font, labels, of };
    return of;
  }

  /**
   * The matrices at their places, in the format of panels.js, which is the same as for a Plotly graph.
   * @returns {DrawnPanel[]}
   */
  panels() {
    if (!this.places || this.changing) return [];
    const { covers } = this;
    return drawnPanels(this.places, this.shown?.away ?? [], {
      covers,
      view: (kind, count) => this.views.of(kind, count),
    });
  }

  /** @returns {Products} */
  products() {
    return this.shown?.products ?? {};
  }

  /** @returns {Labels} */
  get labels() {
    return this.shown?.labels ?? {};
  }

  // ---- drawing

  /** @param {{ isQuiet?: boolean }} how one of many frames in which the matrices stay in their places is quiet */
  drawNow({ isQuiet = false } = {}) {
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
  }

  /** Whether a transition between two steps is running. */
  get changing() {
    return this.morph.pairs !== null;
  }

  /**
   * Draws the picture on a context with a canvas's methods, at `places` or at its places on the page.
   * `imageOf(place)` returns a matrix's cells as an image.
   * @param {Canvas2D} context
   * @param {PaintedAs} how
   */
  paint(context, { theme = this.theme, places = this.places ?? [], imageOf = this.imageOf, written = [] } = {}) {
    /** @type {BoardPen} */
    const pen = {
      context,
      theme,
      font: this.font,
      type: this.type,
      labels: this.labels,
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

  /**
   * The number of rows and columns of a matrix that the screen can show; while it is zoomed, all.
   * @param {Place} at @returns {CellCount}
   */
  most({ panel, width, height }) {
    const density = window.devicePixelRatio || 1;
    if (this.changing || this.views.span(panel.rows, panel.shape[0]) < panel.shape[0]) {
      return { rows: Infinity, cols: Infinity };
    }
    if (this.views.span(panel.cols, panel.shape[1]) < panel.shape[1]) return { rows: Infinity, cols: Infinity };
    return { rows: Math.max(1, height * density), cols: Math.max(1, width * density) };
  }

  drawLight() {
    if (!this.overlay) return;
    const { hovered, pinned, named } = this.lights;
    const any = pinned.query !== null || pinned.key !== null;
    const panels = this.panels();
    this.overlay.draw({
      graph: this.element,
      panels,
      products: this.products(),
      labels: this.labels,
      hovered,
      pinned: any ? { kinds: pinned, operands: {}, at: null } : null,
      named: named && namedIn(named, panels),
      theme: this.theme,
    });
  }

  /**
   * Zooms all token axes by a factor, around the lit cell or the middle; the buttons and keys use it.
   * @param {number} factor
   */
  zoomBy(factor) {
    for (const [kind, count] of this.kinds()) {
      const [from, to] = this.views.of(kind, count);
      const at = this.lights.pinned[kind] ?? (from + to) / 2;
      this.views.zoom(kind, count, at + 0.5, factor);
    }
    this.viewChanged();
  }

  /** The kinds of axes whose tokens are labelled, with how many there are. */
  kinds() {
    /** @type {Map<string, number>} */
    const found = new Map();
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
