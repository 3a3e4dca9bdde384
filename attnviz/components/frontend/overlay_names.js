// The tokens of lit rows and columns, written in bold in place of the labels that they would touch, and never over a
// cell.

import { LONGEST, shorten, TURN } from "./board_layout.js";
import { leastType } from "./type.js";

const SVG = "http://www.w3.org/2000/svg";
const TYPE = 12.5; // px
const AWAY = 5; // px from the matrix
const GROUND = "var(--st-background-color, Canvas)"; // what the labels stand on

export class Names {
  constructor(svg) {
    this.svg = svg;
    this.elements = [];
    this.covers = svg.appendChild(document.createElementNS(SVG, "g")); // under all names
    this.pen = document.createElement("canvas").getContext("2d");
    this.widths = new Map();
  }

  /** Begins anew: what is not written from here on is taken away by `end`. */
  begin({ graph, panels, labels, written, colours }) {
    Object.assign(this, {
      panels,
      labels: labels ?? {},
      beneath: written,
      colours,
      written: 0,
      covered: 0,
      wholes: [],
    });
    this.type = Math.max(TYPE, leastType());
    // Read before anything is written: read in between, they would have the browser lay the page out once more.
    [this.wide, this.high] = [this.svg.clientWidth, this.svg.clientHeight];
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
    for (let n = this.covered; n < this.covers.childElementCount; n += 1) {
      this.covers.children[n].setAttribute("display", "none");
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
    const place = { x: at.x - AWAY, y: at.y + at.height / 2, turn: 0, anchor: "end" };
    this.write({ panel, side: "rows", index, room: at.x - AWAY - left, place, state });
  }

  /** Writes the token of a column below its box `at`, turned where the labels are. */
  column(panel, index, at, state) {
    const [x, y] = [at.x + at.width / 2, at.y + at.height];
    if (panel.labelled.turned) {
      const room = Math.min(LONGEST * Math.max(1, this.type / TYPE), (this.high - y - 8) / Math.sin(TURN));
      const place = { x, y: y + 6 * Math.max(1, this.type / TYPE), turn: -TURN, anchor: "end" };
      this.write({ panel, side: "columns", index, room, place, state });
      return;
    }
    const room = this.wide - 8;
    const half = Math.min(room, this.widthOf(this.text(panel.cols, index))) / 2;
    const middle = Math.max(half + 2, Math.min(x, this.wide - half - 2));
    this.write({
      panel,
      side: "columns",
      index,
      room,
      place: { x: middle, y: y + 1.2 * this.type, turn: 0, anchor: "middle" },
      state,
    });
  }

  text(kind, index) {
    return `${index} ${this.labels[kind]?.[index] ?? ""}`;
  }

  write({ panel, side, index, room, place, state }) {
    const kind = side === "rows" ? panel.rows : panel.cols;
    const label = this.labels[kind]?.[index];
    if (label === undefined) return;
    const shown = shorten(label, room - this.widthOf(`${index} `), (text) => this.widthOf(text));
    if (shown !== label) this.wholes.push(`${index} ${label}`);
    const name = (this.elements[this.written] ??= this.svg.appendChild(made("text", { stroke: GROUND })));
    this.written += 1;
    name.textContent = `${index} ${shown}`;
    const { x, y, turn, anchor } = place;
    const wide = this.widthOf(name.textContent);
    const box =
      anchor === "end"
        ? [-wide, -this.type / 2, wide, this.type]
        : [-wide / 2 - AWAY, -this.type, wide + 2 * AWAY, this.type];
    for (const one of this.beneath) {
      if (one.panel === panel.name && one.side === side && meet(one, { x, y, turn, box })) this.cover(one);
    }
    const attributes = {
      ...(turn ? { x: 0, y: 0, transform: turned(place) } : { x, y, transform: "" }),
      "text-anchor": anchor,
      "dominant-baseline": anchor === "end" ? "central" : "auto",
      display: "inline",
      fill: this.colours[kind] ?? this.colours.text,
      "stroke-width": 3,
      "paint-order": "stroke",
      "font-size": this.type,
      "font-weight": 700,
      direction: "ltr",
      "data-name": kind,
      "data-state": state,
    };
    for (const [property, value] of Object.entries(attributes)) name.setAttribute(property, value);
  }

  /** Covers a label, whole: the half of one that a name leaves is worse than none. */
  cover(label) {
    const cover = this.covers.children[this.covered] ?? this.covers.appendChild(made("rect", { fill: GROUND }));
    this.covered += 1;
    if (cover.label === label && cover.getAttribute("display") === "inline") return;
    cover.label = label;
    const [x, y, width, height] = label.box;
    const attributes = { x, y, width, height, transform: turned(label), display: "inline" };
    for (const [property, value] of Object.entries(attributes)) cover.setAttribute(property, value);
  }
}

function made(name, style) {
  const element = document.createElementNS(SVG, name);
  Object.assign(element.style, style);
  return element;
}

const turned = ({ x, y, turn }) => `translate(${x} ${y}) rotate(${(turn * 180) / Math.PI})`;

/** Whether what is written at two places, turned alike, lies less than a line apart. */
function meet(one, other) {
  const [dx, dy] = [other.x - one.x, other.y - one.y];
  const [cos, sin] = [Math.cos(one.turn), Math.sin(one.turn)];
  const [across, down] = [dx * cos + dy * sin, dy * cos - dx * sin];
  const apart = (from, size, by, otherFrom, otherSize) =>
    by + otherFrom >= from + size || by + otherFrom + otherSize <= from;
  const [left, top, width, height] = one.box;
  const letters = 0.1 * height; // what the box has above and below them
  return (
    !apart(left, width, across, other.box[0], other.box[2]) &&
    !apart(top + letters, height - 2 * letters, down, other.box[1], other.box[3])
  );
}

const end = (axis) => axis._offset + axis._length;
