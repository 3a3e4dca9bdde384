// Writes the tokens of highlighted rows and columns in bold, in place of the labels that they would overlap, and never
// over a cell.

import { contextOf, setAttributes, svgElement } from "../core/dom.ts";
import { shorten, TURN } from "./layout.ts";
import { leastType } from "../core/type.ts";

const TYPE = 12.5; // px
const BOLD = 1.25; // of the width of a label, where that is in bold and a little larger
const AWAY = 5; // px from the matrix
const GROUND = "var(--st-background-color, Canvas)"; // what the labels stand on

export type NamePlace = { x: number; y: number; turn: number; anchor: "middle" | "end" };
/** a token to write, `room` px long */
export interface LitName {
  panel: DrawnPanel;
  side: "rows" | "columns";
  index: number;
  room: number;
  place: NamePlace;
  state: string;
}

export class Names {
  svg: SVGElement;
  elements: SVGTextElement[] = [];
  panels: DrawnPanel[] = [];
  labels: Labels = {};
  beneath: WrittenLabel[] = [];
  colours: Record<string, string> = {};
  wholes: string[] = [];
  written = 0; // how many names are
  covered = 0; // and how many labels
  wide = 0; // px, of the picture
  high = 0;
  type: number = TYPE;
  font = "";
  widthOf: WidthOf = (text) => this.measure(text);
  coveredBy = new WeakMap<Element, WrittenLabel>();
  covers: SVGGElement;
  pen: CanvasRenderingContext2D;
  widths = new Map<string, number>();

  constructor(svg: SVGElement) {
    this.svg = svg;
    this.covers = svg.appendChild(svgElement("g")); // under all names
    this.pen = contextOf(document.createElement("canvas"));
  }

  /** Begins anew: what is not written from here on is taken away by `end`. */
  begin({
    graph,
    panels,
    labels,
    written,
    colours,
  }: {
    graph: HTMLElement;
    panels: DrawnPanel[];
    labels: Labels;
    written: WrittenLabel[];
    colours: Record<string, string>;
  }) {
    Object.assign(this, { panels, labels, beneath: written, colours, written: 0, covered: 0, wholes: [] });
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

  measure(text: string) {
    const known = this.widths.get(text);
    if (known !== undefined) return known;
    this.pen.font = this.font;
    const { width } = this.pen.measureText(text);
    this.widths.set(text, width);
    return width;
  }

  /** Writes the token of a row left of its box `at`, as much of it as the space up to the next matrix holds. */
  row(panel: DrawnPanel, index: number, at: Box, state: string) {
    const beside = this.panels.filter(({ x, y }) => end(x) <= at.x && y._offset < at.y + at.height && end(y) > at.y);
    const left = Math.max(2, ...beside.map(({ x }) => end(x) + AWAY));
    const place: NamePlace = { x: at.x - AWAY, y: at.y + at.height / 2, turn: 0, anchor: "end" };
    this.write({ panel, side: "rows", index, room: at.x - AWAY - left, place, state });
  }

  /** Writes the token of a column below its box `at`, turned where the labels are. */
  column(panel: DrawnPanel, index: number, at: Box, state: string) {
    const [x, y] = [at.x + at.width / 2, at.y + at.height];
    if (panel.labelled?.turned) {
      const own = BOLD * panel.labelled.room + this.widthOf(`${index} `); // as much of it as of the label
      const room = Math.min(own, (this.high - y - 8) / Math.sin(TURN));
      const place: NamePlace = { x, y: y + 6 * Math.max(1, this.type / TYPE), turn: -TURN, anchor: "end" };
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

  text(kind: string, index: number) {
    return `${index} ${this.labels[kind]?.[index] ?? ""}`;
  }

  write({ panel, side, index, room, place, state }: LitName) {
    const kind = side === "rows" ? panel.rows : panel.cols;
    const label = this.labels[kind]?.[index];
    if (label === undefined) return;
    const beside = shorten(label, room - this.widthOf(`${index} `), this.widthOf);
    const isBesideIt = beside !== "…" || label === "…";
    const word = isBesideIt ? label : shorten(label, room, this.widthOf);
    // Where both have no room: rather the word than its number.
    const shown = isBesideIt ? `${index} ${beside}` : word === "…" ? String(index) : word;
    if (beside !== label) this.wholes.push(`${index} ${label}`);
    const name = (this.elements[this.written] ??= this.svg.appendChild(made("text", { stroke: GROUND })));
    this.written += 1;
    name.textContent = shown;
    const { x, y, turn, anchor } = place;
    const wide = this.widthOf(name.textContent);
    const box: BoxNumbers =
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
      fill: this.colours[panel.axes ? "text" : kind] ?? this.colours.text,
      "stroke-width": 3,
      "paint-order": "stroke",
      "font-size": this.type,
      "font-weight": 700,
      direction: "ltr",
      "data-name": kind,
      "data-state": state,
    };
    setAttributes(name, attributes);
  }

  /** Covers a label, whole: the half of one that a name leaves is worse than none. */
  cover(label: WrittenLabel) {
    const cover = this.covers.children[this.covered] ?? this.covers.appendChild(made("rect", { fill: GROUND }));
    this.covered += 1;
    if (this.coveredBy.get(cover) === label && cover.getAttribute("display") === "inline") return;
    this.coveredBy.set(cover, label);
    const [x, y, width, height] = label.box;
    const attributes = { x, y, width, height, transform: turned(label), display: "inline" };
    setAttributes(cover, attributes);
  }
}

function made<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  style: Record<string, string | number>,
): SVGElementTagNameMap[Name] {
  const element = svgElement(name);
  Object.assign(element.style, style);
  return element;
}

const turned = ({ x, y, turn }: { x: number; y: number; turn: number }) =>
  `translate(${x} ${y}) rotate(${(turn * 180) / Math.PI})`;

/** The upright box around one that is turned. */
function upright({ turn, box: [left, top, width, height] }: { turn: number; box: BoxNumbers }): BoxNumbers {
  const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
  const corners = [left, left + width].flatMap((x) =>
    [top, top + height].map((y) => [x * cos - y * sin, x * sin + y * cos]),
  );
  const [xs, ys] = [0, 1].map((side) => corners.map((corner) => corner[side]));
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return [x, y, Math.max(...xs) - x, Math.max(...ys) - y];
}

/**
 * Whether what is written at two places lies less than a line apart: exactly where both are turned alike, else by the
 * upright boxes around them.
 */
function meet(one: WrittenLabel, other: { x: number; y: number; turn: number; box: BoxNumbers }): boolean {
  if (one.turn !== other.turn) {
    return meet({ ...one, turn: 0, box: upright(one) }, { ...other, turn: 0, box: upright(other) });
  }
  const [dx, dy] = [other.x - one.x, other.y - one.y];
  const [cos, sin] = [Math.cos(one.turn), Math.sin(one.turn)];
  const [across, down] = [dx * cos + dy * sin, dy * cos - dx * sin];
  const apart: (from: number, size: number, by: number, otherFrom: number, otherSize: number) => boolean = (
    from,
    size,
    by,
    otherFrom,
    otherSize,
  ) => by + otherFrom >= from + size || by + otherFrom + otherSize <= from;
  const [left, top, width, height] = one.box;
  const letters = 0.1 * height; // what the box has above and below them
  return (
    !apart(left, width, across, other.box[0], other.box[2]) &&
    !apart(top + letters, height - 2 * letters, down, other.box[1], other.box[3])
  );
}

const end = (axis: Axis) => axis._offset + axis._length;
