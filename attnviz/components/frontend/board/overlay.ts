// Highlights the hovered or pinned row, column and cell in every panel that shares them.

import { INK, TEXT_INK } from "../core/colours.ts";
import { setAttributes, svgElement } from "../core/dom.ts";
import { Names } from "./overlay_names.ts";
import { cellBox, columnBox, lit, litIn, rowBox } from "./panels.ts";
import { Regions } from "./overlay_regions.ts";

// The cell's own outline is dark in a light halo, so that it stands out from any cell colour.
const OUTLINES: [shape: string, colour: string, width: number][] = [
  ["halo", "#FFFFFF", 4.5],
  ["cell", "#1B1B26", 2],
];
const VECTORS: ("query" | "key" | "value")[] = ["query", "key", "value"];
const INSET = 0.07; // of a cell: how far a frame is from its edge
const FRAME = 3; // px
const THINNEST = 3; // px: at 512 tokens a row is thinner than its own outline

export class Overlay {
  svg: SVGSVGElement;
  marks: SVGRectElement[] = [];
  used = 0;
  colours;
  names: Names;
  regions: Regions;

  constructor() {
    this.svg = svgElement("svg", { "aria-hidden": true, "data-attnviz-overlay": "" });
    this.svg.style.cssText =
      "position:absolute;inset:0;width:100%;height:100%;pointer-events:none;z-index:5;overflow:visible";
    this.colours = INK.light;
    this.names = new Names(this.svg);
    this.regions = new Regions(this.svg);
  }

  /**
   * Draws what is lit for the hovered cell or for what a word names, and the pinned one with it (dashed while another
   * is hovered).
   * @param given.named in place of a hovered cell
   * @param given.framed cells of all panels that have a frame
   */
  draw({
    graph,
    panels,
    products,
    labels,
    hovered,
    pinned,
    named = null,
    framed = [],
    theme,
  }: {
    graph: HTMLElement | null;
    panels: DrawnPanel[];
    products: Products;
    labels: Labels;
    hovered: LitCell | null;
    pinned: Lit | null;
    named?: Named | null;
    framed?: Point[];
    theme: Theme;
  }) {
    if (!graph) {
      this.remove();
      return;
    }
    if (this.svg.parentNode !== graph) {
      if (getComputedStyle(graph).position === "static") graph.style.position = "relative";
      graph.append(this.svg);
    }
    this.used = 0;
    this.colours = INK[theme];
    this.names.begin({ graph, panels, labels, written: graph.attnviz?.written ?? [], colours: TEXT_INK[theme] });
    this.regions.begin();
    for (const panel of panels) for (const at of framed) this.frame(panel, at);
    if (pinned) this.drawOne(panels, pinned, hovered || named ? "pinned-behind" : "pinned");
    if (named) this.drawNamed(panels, named);
    else if (hovered) this.drawOne(panels, lit(hovered, products), "hovered");
    this.regions.end();
    this.names.end();
    if (graph.title !== this.names.whole) graph.title = this.names.whole; // the browser shows it beside the pointer
    for (const mark of this.marks.slice(this.used)) {
      mark.setAttribute("display", "none");
      mark.dataset.state = "off";
    }
  }

  drawOne(panels: DrawnPanel[], meant: Lit, state: string) {
    for (const panel of panels) {
      const { row, column, own, last } = litIn(panel, meant);
      const crossing = row !== null && column !== null;
      if (state !== "pinned-behind") {
        const [across, down] = [this.colour(panel, panel.rows), this.colour(panel, panel.cols)];
        if (row !== null) this.mark(rowBox(panel, row), panel, "row", state, across);
        if (column !== null) this.mark(columnBox(panel, column, last), panel, "column", state, down);
        this.nameLabels(panel, row, column, state);
      }
      if (!crossing || !(own || !meant.at)) continue;
      const place = cellBox(panel, row, column);
      for (const [shape, colour, width] of OUTLINES) this.mark(place, panel, shape, state, colour, width);
    }
  }

  /** A frame inside of a cell, so that those of neighbours do not touch. */
  frame(panel: DrawnPanel, [i, j]: Point) {
    const at = cellBox(panel, i, j);
    if (!at) return;
    const [across, down] = [INSET * at.width, INSET * at.height];
    const inside = { x: at.x + across, y: at.y + down, width: at.width - 2 * across, height: at.height - 2 * down };
    this.mark(inside, panel, "cell", "pinned-frame", this.colours.key, FRAME);
  }

  drawNamed(panels: DrawnPanel[], { kinds, matrix, regions }: Named) {
    const meant: Lit = { kinds, operands: {}, at: null };
    this.drawOne(matrix ? panels.filter(({ name }) => name === matrix) : panels, meant, "hovered");
    // The row's label may stand at the matrix to the left.
    const beside = matrix ? panels.filter(({ name }) => name !== matrix) : [];
    for (const panel of beside) this.nameLabels(panel, litIn(panel, meant).row, null, "hovered");
    for (const region of regions) this.regions.draw(region, this.ownColour(region.panel));
  }

  nameLabels(panel: DrawnPanel, row: number | null, column: number | null, state: string) {
    const { rows, columns } = panel.labelled ?? {};
    const across = rows && row !== null && rowBox(panel, row);
    const down = columns && column !== null && columnBox(panel, column);
    if (across) this.names.row(panel, row, across, state);
    if (down) this.names.column(panel, column, down, state);
  }

  colour(panel: DrawnPanel, kind: string) {
    if (panel.name === "value" || panel.name === "W_value") return this.colours.value;
    if (!panel.axes && (kind === "query" || kind === "key")) return this.colours[kind];
    return this.ownColour(panel); // a feature axis takes the colour of the vectors that it belongs to
  }

  ownColour(panel: DrawnPanel) {
    const owner = VECTORS.find((name) => panel.name.includes(name));
    return owner ? this.colours[owner] : this.colours.attention;
  }

  mark(at: Box | null, panel: DrawnPanel, shape: string, state: string, colour: string, stroke = 1.75) {
    if (!at) return;
    const mark = (this.marks[this.used] ??= this.svg.appendChild(svgElement("rect")));
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
    setAttributes(mark, attributes);
  }

  remove() {
    this.svg.remove();
  }
}
