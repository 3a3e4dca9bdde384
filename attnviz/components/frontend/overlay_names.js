// The tokens of lit rows and columns, written in bold over their labels, and never over a cell.

import { LONGEST, shorten, TURN } from "./board_layout.js";
import { leastType } from "./type.js";

const SVG = "http://www.w3.org/2000/svg";
const TYPE = 12.5; // px
const AWAY = 5; // px from the matrix

export class Names {
  constructor(svg) {
    this.svg = svg;
    this.elements = [];
    this.pen = document.createElement("canvas").getContext("2d");
    this.widths = new Map();
  }

  /** Begins anew: what is not written from here on is taken away by `end`. */
  begin({ graph, panels, labels, colours }) {
    Object.assign(this, { panels, labels: labels ?? {}, colours, written: 0, wholes: [] });
    this.type = Math.max(TYPE, leastType());
    const font = `700 ${this.type}px ${graph.attnviz?.font ?? "sans-serif"}`;
    if (font === this.font) return;
    this.font = font;
    this.widths.clear();
  }

  end() {
    for (const name of this.elements.slice(this.written)) {
      name.setAttribute("display", "none");
      name.dataset.state = "off";
    }
  }

  /** What was shortened, whole, one token a line. */
  get whole() {
    return this.wholes.join("\n");
  }

  widthOf(text) {
    if (!this.widths.has(text)) {
      this.pen.font = this.font;
      this.widths.set(text, this.pen.measureText(text).width);
    }
    return this.widths.get(text);
  }

  /** Writes the token of a row left of its box `at`, as much of it as the space up to the next matrix holds. */
  row(panel, index, at, state) {
    const beside = this.panels.filter(({ x, y }) => end(x) <= at.x && y._offset < at.y + at.height && end(y) > at.y);
    const left = Math.max(2, ...beside.map(({ x }) => end(x) + AWAY));
    const place = { x: at.x - AWAY, y: at.y + at.height / 2, "text-anchor": "end", "dominant-baseline": "central", transform: "" };
    this.write(panel.rows, index, at.x - AWAY - left, place, state);
  }

  /** Writes the token of a column below its box `at`, turned where the labels are. */
  column(panel, index, at, state) {
    const [x, y] = [at.x + at.width / 2, at.y + at.height];
    if (panel.labelled.turned) {
      const room = Math.min(LONGEST * Math.max(1, this.type / TYPE), (this.svg.clientHeight - y - 8) / Math.sin(TURN));
      const transform = `translate(${x} ${y + 6}) rotate(${(-TURN * 180) / Math.PI})`;
      this.write(panel.cols, index, room, { x: 0, y: 0, "text-anchor": "end", "dominant-baseline": "central", transform }, state);
      return;
    }
    const room = this.svg.clientWidth - 8;
    const half = Math.min(room, this.widthOf(this.text(panel.cols, index))) / 2;
    const middle = Math.max(half + 2, Math.min(x, this.svg.clientWidth - half - 2));
    const place = { x: middle, y: y + 1.2 * this.type, "text-anchor": "middle", "dominant-baseline": "auto", transform: "" };
    this.write(panel.cols, index, room, place, state);
  }

  text(kind, index) {
    return `${index} ${this.labels[kind]?.[index] ?? ""}`;
  }

  write(kind, index, room, place, state) {
    const label = this.labels[kind]?.[index];
    if (label === undefined) return;
    const shown = shorten(label, room - this.widthOf(`${index} `), (text) => this.widthOf(text));
    if (shown !== label) this.wholes.push(`${index} ${label}`);
    const name = (this.elements[this.written] ??= this.svg.appendChild(document.createElementNS(SVG, "text")));
    this.written += 1;
    name.textContent = `${index} ${shown}`;
    const attributes = {
      ...place,
      display: "inline",
      fill: this.colours[kind] ?? this.colours.text,
      stroke: this.colours.canvas,
      "stroke-width": 6,
      "paint-order": "stroke",
      "font-size": this.type,
      "font-weight": 700,
      direction: "ltr",
      "data-name": kind,
      "data-state": state,
    };
    for (const [property, value] of Object.entries(attributes)) name.setAttribute(property, value);
  }
}

const end = (axis) => axis._offset + axis._length;
