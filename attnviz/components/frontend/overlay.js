// The light over the picture: the row, the column and the cell that are meant, in every panel that shares them.

import { INK } from "./colours.js";
import { cellBox, columnBox, lit, litIn, rowBox } from "./panels.js";

const SVG = "http://www.w3.org/2000/svg";
// The cell's own outline is dark in a light halo, so that it stands out from any cell colour.
const OUTLINES = [["halo", "#FFFFFF", 4.5], ["cell", "#1B1B26", 2]];
const LONGEST = 48; // letters of a label; the inspector shows all of it
const THINNEST = 3; // px: at 512 tokens a row is thinner than its own outline

export class Overlay {
  constructor() {
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("aria-hidden", "true");
    this.svg.dataset.attnvizOverlay = "";
    this.svg.style.cssText =
      "position:absolute;inset:0;width:100%;height:100%;pointer-events:none;z-index:5;overflow:visible";
    this.marks = [];
    this.names = [];
  }

  /** Draws what is lit for the hovered cell, and the pinned one with it (dashed while another is hovered). */
  draw({ graph, panels, products, labels, hovered, pinned, theme }) {
    if (!graph) return this.remove();
    if (this.svg.parentNode !== graph) {
      if (getComputedStyle(graph).position === "static") graph.style.position = "relative";
      graph.append(this.svg);
    }
    this.used = 0;
    this.colours = INK[theme];
    this.labels = labels ?? {};
    this.written = 0;
    if (pinned) this.drawOne(panels, pinned, hovered ? "pinned-behind" : "pinned");
    if (hovered) this.drawOne(panels, lit(hovered, products), "hovered");
    for (const mark of [...this.marks.slice(this.used), ...this.names.slice(this.written)]) {
      mark.setAttribute("display", "none");
      mark.dataset.state = "off";
    }
    return undefined;
  }

  drawOne(panels, meant, state) {
    for (const panel of panels) {
      const { row, column, own } = litIn(panel, meant);
      const crossing = row !== null && column !== null;
      if (state !== "pinned-behind") {
        const [across, down] = [this.colour(panel, panel.rows), this.colour(panel, panel.cols)];
        if (row !== null) this.mark(rowBox(panel, row), panel, "row", state, across);
        if (column !== null) this.mark(columnBox(panel, column), panel, "column", state, down);
        if (row !== null && panel.labelled?.rows) this.name(panel, panel.rows, row, rowBox(panel, row), "row", state);
        if (column !== null && panel.labelled?.columns) this.name(panel, panel.cols, column, columnBox(panel, column), "column", state);
      }
      if (!crossing || !(own || !meant.at)) continue;
      const place = cellBox(panel, row, column);
      for (const [shape, colour, width] of OUTLINES) this.mark(place, panel, shape, state, colour, width);
    }
  }

  colour(panel, kind) {
    if (panel.name === "value" || panel.name === "W_value") return this.colours.value;
    if (kind === "query" || kind === "key") return this.colours[kind];
    // A feature axis takes the colour of the vectors that it belongs to.
    const owner = ["query", "key", "value"].find((name) => panel.name.includes(name));
    return owner ? this.colours[owner] : this.colours.attention;
  }

  mark(at, panel, shape, state, colour, stroke = 1.75) {
    if (!at) return;
    const mark = (this.marks[this.used] ??= this.svg.appendChild(document.createElementNS(SVG, "rect")));
    this.used += 1;
    const width = Math.max(at.width, THINNEST);
    const height = Math.max(at.height, THINNEST);
    const cell = shape === "cell" || shape === "halo";
    const attributes = {
      display: "inline",
      x: at.x - (width - at.width) / 2,
      y: at.y - (height - at.height) / 2,
      width,
      height,
      rx: cell ? 2 : 1,
      fill: cell ? "none" : colour,
      "fill-opacity": 0.07,
      stroke: colour,
      "stroke-width": stroke,
      "stroke-dasharray": state === "pinned-behind" && shape === "cell" ? "4 3" : "none",
      "data-panel": panel.name,
      "data-shape": shape,
      "data-state": state,
    };
    for (const [name, value] of Object.entries(attributes)) mark.setAttribute(name, value);
  }

  /** Writes the whole label of a lit row or column over the shortened one. */
  name(panel, kind, index, at, shape, state) {
    const text = this.labels[kind]?.[index];
    if (text === undefined || !at) return;
    let name = this.names[this.written];
    if (!name) {
      name = this.svg.appendChild(document.createElementNS(SVG, "text"));
      this.names.push(name);
    }
    this.written += 1;
    const shown = Array.from(text).length > LONGEST ? `${Array.from(text).slice(0, LONGEST - 1).join("")}…` : text;
    name.textContent = `${index} ${shown}`;
    const row = shape === "row";
    const half = 3.4 * (shown.length + 3);
    const middle = Math.max(half, Math.min(at.x + at.width / 2, this.svg.clientWidth - half));
    const attributes = {
      display: "inline",
      x: row ? at.x - 5 : middle,
      y: row ? at.y + at.height / 2 : at.y + at.height + 15,
      "text-anchor": row && half * 2 < at.x ? "end" : row ? "start" : "middle",
      "dominant-baseline": row ? "central" : "auto",
      fill: this.colours[kind] ?? this.colours.text,
      stroke: this.colours.canvas,
      "stroke-width": 5,
      "paint-order": "stroke",
      "font-size": 12.5,
      "font-weight": 700,
      direction: "ltr",
      "data-name": kind,
      "data-state": state,
    };
    if (attributes["text-anchor"] === "start") attributes.x = 2;
    for (const [property, value] of Object.entries(attributes)) name.setAttribute(property, value);
  }

  remove() {
    this.svg.remove();
  }
}
