// The board: matrices with their labels on one canvas, laid out as they multiply.
//
//   const board = new Board(root, { onPoint(at | null), onClick(at), onMove({query, key}) });
//   board.show(picture)                 picture: {panels, grid, widths, heights, between, products, labels}
//   board.light({ hovered, pinned })    the lit cell, and {query, key} that are pinned
//
// A panel is {name, title, role, data: Float32Array (NaN is hidden), shape: [rows, cols], rows, cols, low, high,
// scale: "signed" | "weights", numbered, bar, parts, ticks}; rows and cols name the kind of an axis ("query", "key",
// "dim", ...), and panels that share a kind zoom, scroll and light up together. `labels` are the tokens of a kind.
// Without callbacks the board only draws: whoever finds it in the page follows the pointer (see picture.js).

import { arrange, place } from "./board_layout.js";
import { BoardImages } from "./board_images.js";
import { between, pairs } from "./board_morph.js";
import { paintFormula, paintPlace } from "./board_paint.js";
import { complete, describe } from "./board_panel.js";
import { AxisViews } from "./board_view.js";
import { BoardPointer } from "./board_pointer.js";
import { element, perFrame } from "./dom.js";
import { boardPicture } from "./export_board.js";
import { Overlay } from "./overlay.js";
import { moved, Picture } from "./picture.js";
import { leastType, typeFor } from "./type.js";

const MORPH = 260; // ms
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const NOTHING = { query: null, key: null };

export class Board {
  constructor(root, { onPoint, onClick, onMove, className = "" } = {}) {
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.canvas.style.cssText = "position:absolute;inset:0;width:100%;height:100%";
    this.element = element(
      "div",
      { class: `attnviz-board ${className}`, tabIndex: 0, role: "application" },
      this.canvas,
    );
    this.element.style.cssText =
      "position:relative;width:100%;height:100%;outline-offset:-2px;touch-action:pan-x pan-y";
    this.element.attnviz = this;
    this.element.attnvizPicture = boardPicture(this);
    root.append(this.element);
    this.theme = "light";
    this.type = typeFor();
    this.views = new AxisViews();
    this.images = new BoardImages();
    this.moment = 1;
    this.lights = { hovered: null, pinned: NOTHING };
    this.redraw = perFrame(() => this.drawNow());
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(this.element);
    this.pointer = new BoardPointer(this);
    document.fonts?.ready.then(() => {
      this.widths = null;
      this.redraw();
    });
    if (onPoint || onClick) this.follow({ onPoint, onClick, onMove });
  }

  /** Follows the pointer and the keyboard itself, and lights what is meant. */
  follow({ onPoint, onClick, onMove }) {
    this.overlay = new Overlay();
    this.picture = new Picture({
      find: () => this.element,
      onPoint: (at) => onPoint?.(at),
      onClick: (at) => onClick?.(at),
      onKey: (event) => {
        const to = onMove && moved(event, this.lights.pinned, this.shown.labels);
        if (to) onMove(to);
      },
      onDrawn: () => this.drawLight(),
    });
  }

  show(picture, { morph = false, backwards = false } = {}) {
    const before = this.places;
    this.shown = picture;
    for (const panel of picture.panels) complete(panel);
    this.element.setAttribute("aria-label", picture.alt ?? picture.panels.map(describe).join("; "));
    if (!morph || !before || STILL.matches) {
      this.moment = 1;
      this.pairs = null;
    } else {
      this.layOut();
      this.pairs = backwards ? pairs(this.places, before) : pairs(before, this.places);
      this.backwards = backwards;
      this.began = performance.now();
      this.moment = 0;
    }
    this.placed = null;
    this.redraw.cancel();
    this.drawNow();
  }

  light({ hovered, pinned }) {
    this.lights.hovered = hovered ?? null;
    this.hold(pinned ?? NOTHING);
    this.drawLight();
  }

  /** Takes note of what is pinned: zooming keeps it in view, and a pin that moves takes the view along. */
  hold(pinned) {
    const before = this.lights.pinned;
    if (before.query === pinned.query && before.key === pinned.key) return;
    this.lights.pinned = pinned;
    this.onHold?.();
    if (!this.views.zoomed) return;
    for (const [kind, count] of this.kinds()) {
      if (pinned[kind] !== null) this.views.reveal(kind, count, pinned[kind]);
    }
    this.viewChanged();
  }

  setTheme(theme) {
    if (theme === this.theme) return;
    this.theme = theme;
    this.images.clear();
    this.redraw();
  }

  /** Covers cells of a panel: `covers(name)` gives (i, j) -> whether it is covered. Null uncovers all. */
  cover(covers) {
    this.covers = covers;
    this.redraw();
  }

  destroy() {
    this.redraw.cancel();
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

  layOut() {
    if (this.placed === this.shown) return;
    const { clientWidth: width, clientHeight: height } = this.element;
    const context = this.canvas.getContext("2d");
    this.font = getComputedStyle(this.element).fontFamily || "sans-serif";
    this.type = typeFor(leastType());
    const widthOf = this.measurer(context, `${this.type.label}px ${this.font}`);
    this.places = place(
      this.shown,
      { width, height },
      { widthOf, type: this.type, span: (kind, count) => this.views.span(kind, count) },
    );
    this.placed = this.shown;
  }

  /** Measures labels, each once: another head of a long text has the same 512 tokens. */
  measurer(context, font) {
    if (this.widths?.font !== font || this.widths.labels !== this.labels) {
      this.widths = { font, labels: this.labels, known: new Map() };
    }
    const { known } = this.widths;
    context.font = font;
    return (text) => {
      if (!known.has(text)) known.set(text, context.measureText(text).width);
      return known.get(text);
    };
  }

  /** The matrices where they are drawn, in the terms of panels.js; the same as of a Plotly graph. */
  panels() {
    if (!this.places || this.moment < 1) return [];
    return this.places.map((at) => {
      const { panel } = at;
      const [rows, cols] = panel.shape;
      return {
        ...pick(panel, ["name", "rows", "cols", "z"]),
        height: rows,
        width: cols,
        x: axis(at.x, at.width, this.views.of(panel.cols, cols)),
        y: axis(at.y, at.height, this.views.of(panel.rows, rows)),
        labelled: { rows: at.rowLabels, columns: at.columnLabels, turned: at.turned },
        covered: this.covers?.(panel.name) ?? null,
      };
    });
  }

  products() {
    return this.shown?.products ?? {};
  }

  get labels() {
    return this.shown?.labels ?? {};
  }

  // ---- drawing

  drawNow() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!this.shown || !width || !height) return;
    this.layOut();
    const density = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * density), Math.round(height * density)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      [this.canvas.width, this.canvas.height] = [wide, high];
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    if (this.pairs) this.advance();
    this.written = [];
    this.paint(context, { written: this.written });
    this.element.dispatchEvent(new Event("attnviz-drawn"));
    if (this.pairs) this.redraw();
  }

  advance() {
    this.moment = Math.min(1, (performance.now() - this.began) / MORPH);
    if (this.moment === 1) this.pairs = null;
  }

  /**
   * Draws the picture on any pen that has a canvas's methods: as it is at `moment`, or `places` as they are given.
   * `imageOf(place)` gives a matrix's cells as an image.
   */
  paint(
    context,
    {
      theme = this.theme,
      places = this.placesNow(),
      imageOf = (at) => this.images.of(at, this.theme, (end) => this.most(end)),
      written = [],
    } = {},
  ) {
    const pen = {
      context,
      theme,
      font: this.font,
      type: this.type,
      labels: this.shown.labels,
      view: (kind, count) => this.views.of(kind, count),
      written,
    };
    for (const at of places) {
      if (at.alpha === 0) continue;
      const covers = this.covers?.(at.panel.name) ?? null;
      paintPlace(pen, covers ? { ...at, covers } : at, imageOf(at));
    }
    if (places.every(({ alpha }) => alpha === undefined)) this.paintOperation(pen);
  }

  placesNow() {
    const t = this.backwards ? 1 - this.moment : this.moment;
    return this.pairs ? this.pairs.map((pair) => between(pair, t)) : this.places;
  }

  /** Writes the operation in the empty corner of a product. */
  paintOperation(pen) {
    const { between: text, grid } = this.shown;
    const corner = this.places.find(({ row, column }) => row === 1 && column === 0);
    if (!text || grid[0]?.[0] !== null || !corner) return;
    const beside = this.places.find(({ row }) => row === 0);
    paintFormula(pen, text, {
      x: corner.x,
      room: beside.x - beside.gutter - corner.x,
      middle: beside.y + beside.height / 2,
    });
  }

  /** How many rows and columns of a matrix the screen can show: all while it is zoomed. */
  most({ panel, width, height }) {
    const density = window.devicePixelRatio || 1;
    if (this.pairs || this.views.span(panel.rows, panel.shape[0]) < panel.shape[0]) {
      return { rows: Infinity, cols: Infinity };
    }
    if (this.views.span(panel.cols, panel.shape[1]) < panel.shape[1]) return { rows: Infinity, cols: Infinity };
    return { rows: Math.max(1, height * density), cols: Math.max(1, width * density) };
  }

  drawLight() {
    if (!this.overlay) return;
    const { hovered, pinned } = this.lights;
    const any = pinned.query !== null || pinned.key !== null;
    this.overlay.draw({
      graph: this.element,
      panels: this.panels(),
      products: this.products(),
      labels: this.labels,
      hovered,
      pinned: any ? { kinds: pinned, operands: {}, at: null } : null,
      theme: this.theme,
    });
  }

  /** Zooms all token axes by a factor, around the lit cell or the middle; the buttons and keys use it. */
  zoomBy(factor) {
    for (const [kind, count] of this.kinds()) {
      const [from, to] = this.views.of(kind, count);
      const at = this.lights.pinned[kind] ?? (from + to) / 2;
      this.views.zoom(kind, count, at + 0.5, factor);
    }
    this.viewChanged();
  }

  kinds() {
    const found = new Map();
    for (const { panel } of arrange(this.shown)) {
      for (const [kind, count] of [
        [panel.rows, panel.shape[0]],
        [panel.cols, panel.shape[1]],
      ]) {
        if (this.labels[kind]) found.set(kind, count);
      }
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

const pick = (from, names) => Object.fromEntries(names.map((name) => [name, from[name]]));

/** An axis as panels.js and the overlay read it: from cells to pixels and back. */
function axis(offset, length, [from, to]) {
  return {
    _offset: offset,
    _length: length,
    p2l: (pixel) => from + (pixel / length) * (to - from) - 0.5,
    l2p: (cell) => ((cell + 0.5 - from) / (to - from)) * length,
  };
}
