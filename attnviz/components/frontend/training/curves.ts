// Curves over the steps of a training: accuracy and the scores of patterns above, the loss below. A press or a drag
// chooses the snapshot that is nearest.

import { whole } from "../core/format.ts";
import { element, setAttributes, svgElement } from "../core/dom.ts";
import { curvesPicture } from "../export/curves.ts";
import { leastType } from "../core/type.ts";
import { ticks } from "./numbers.ts";

const EDGE = { left: 46, right: 12, top: 12, bottom: 26 }; // px around the lines, for 12 px type
const LABEL = 112; // px at the right of lines that have labels
const TYPE = 12; // px
const EVERY = { x: 70, y: 26 }; // px from one tick to the next, at least
const MOST = 6; // ticks of an axis

export interface Drawn {
  lines: CurveLine[];
  /** the last step of the horizontal axis */
  high: number;
  /** of the vertical axis; null for the largest number */
  ceiling: number | null;
  unit: (y: number) => string;
  alt: string;
}

export class Curves {
  onStep;
  svg: SVGSVGElement;
  axes: SVGElement;
  lines: SVGElement;
  labels: SVGElement;
  marker: SVGElement;
  room = element("div", { class: "chart" });
  drawn: Drawn | null = null;
  step = 0;
  edge = EDGE;
  size = { width: 0, height: 0 };
  top = 1; // of the vertical axis
  sizes: ResizeObserver = new ResizeObserver(() => this.draw());

  constructor(root: HTMLElement, name: string, onStep: (step: number) => void) {
    this.onStep = onStep;
    this.svg = svgElement("svg", { class: `curves ${name}`, role: "img" });
    this.axes = this.svg.appendChild(svgElement("g", { class: "axes" }));
    this.lines = this.svg.appendChild(svgElement("g", { class: "lines" }));
    this.labels = this.svg.appendChild(svgElement("g", { class: "labels" }));
    this.marker = this.svg.appendChild(svgElement("line", { class: "marker" }));
    this.room.append(this.svg);
    this.room.attnvizPicture = curvesPicture(this);
    root.append(this.room);
    this.sizes.observe(this.room);
    for (const kind of ["pointerdown", "pointermove"] as const) {
      this.svg.addEventListener(kind, (event) => this.point(event));
    }
  }

  /** @param step where the marker stands */
  update(drawn: Drawn, step = this.step) {
    this.drawn = drawn;
    this.step = step;
    this.draw();
  }

  mark(step: number) {
    this.step = step;
    const x = this.x(step);
    setAttributes(this.marker, { x1: x, x2: x });
    this.svg.dataset.step = String(step);
  }

  point(event: PointerEvent) {
    if (!this.drawn || !(event.buttons & 1)) return;
    const { left, right } = this.edge;
    const inside = event.clientX - this.svg.getBoundingClientRect().left - left;
    this.onStep((Math.max(0, inside) / Math.max(1, this.size.width - left - right)) * this.drawn.high);
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.room;
    if (!this.drawn || !width || !height) return;
    this.size = { width, height };
    const { lines, ceiling, alt } = this.drawn;
    const unit = Math.max(1, leastType() / TYPE);
    this.edge = {
      left: EDGE.left * unit,
      right: (lines.some(({ label }) => label) ? LABEL : EDGE.right) * unit,
      top: EDGE.top * unit,
      bottom: EDGE.bottom * unit,
    };
    const largest = Math.max(0.1, ...lines.map(({ values }) => largestOf(values)));
    this.top = ceiling ?? largest * 1.05;
    setAttributes(this.svg, { viewBox: `0 0 ${width} ${height}`, "aria-label": alt });
    this.svg.style.fontSize = `${TYPE * unit}px`;
    this.drawAxes();
    this.lines.replaceChildren(...lines.map((line) => this.path(line)));
    this.labels.replaceChildren(...this.ends(lines, TYPE * unit * 1.15));
    setAttributes(this.marker, { y1: this.edge.top, y2: height - this.edge.bottom });
    this.mark(this.step);
  }

  x(step: number) {
    const { left, right } = this.edge;
    return round(left + ((this.size.width - left - right) * step) / (this.drawn?.high || 1));
  }

  y(value: number) {
    const { top, bottom } = this.edge;
    return round(this.size.height - bottom - ((this.size.height - top - bottom) * value) / this.top);
  }

  drawAxes() {
    const { width, height } = this.size;
    const { left, right, top, bottom } = this.edge;
    const { high = 1, unit = String } = this.drawn ?? {};
    const shown = [];
    for (const value of ticks(this.top, count(height - top - bottom, EVERY.y))) {
      const y = this.y(value);
      shown.push(svgElement("line", { class: "rule", x1: left, x2: width - right, y1: y, y2: y }));
      shown.push(
        svgElement("text", { x: left - 6, y, "text-anchor": "end", "dominant-baseline": "middle" }, unit(value)),
      );
    }
    for (const step of ticks(high, count(width - left - right, EVERY.x))) {
      const label = whole(step);
      shown.push(svgElement("text", { x: this.x(step), y: height - bottom + 6, class: "step" }, label));
    }
    this.axes.replaceChildren(...shown);
  }

  /**
   * The labels at the ends of lines, so far apart that each can be read; only the most important if not all fit.
   */
  ends(lines: CurveLine[], apart: number) {
    let named = lines
      .filter(({ label, values }) => label && values.length && !Number.isNaN(values[values.length - 1]))
      .map(({ label, look, steps, values }) => {
        const last = values.length - 1;
        return { label, look, x: this.x(steps[last]), y: this.y(Math.min(values[last], this.top)) };
      })
      .sort((one, other) => one.y - other.y);
    const lowest = this.size.height - this.edge.bottom;
    if (named.length * apart > lowest) named = named.filter(({ look }) => /chosen|floor/.test(look));
    let above = -Infinity;
    for (const one of named) above = one.y = Math.max(one.y, above + apart);
    let below = lowest;
    for (const one of named.toReversed()) below = (one.y = Math.min(one.y, below)) - apart;
    return named.map(({ label, look, x, y }) =>
      svgElement("text", { x: x + 5, y, class: look, "dominant-baseline": "middle" }, label ?? ""),
    );
  }

  path({ steps, values, look, isOther, name, item }: CurveLine) {
    const points = [];
    for (let n = 0; n < steps.length; n += 1) {
      if (!Number.isNaN(values[n])) points.push(`${this.x(steps[n])},${this.y(Math.min(values[n], this.top))}`);
    }
    const shape = points.length === 1 ? `M${points[0]}h0.01` : points.length ? `M${points.join("L")}` : "";
    const path = svgElement("path", { class: `${look}${isOther ? " other" : ""}`, d: shape });
    if (item) path.setAttribute("data-item", item);
    path.append(svgElement("title", {}, name));
    return path;
  }

  destroy() {
    this.sizes.disconnect();
    this.room.remove();
  }
}

function largestOf(values: Numbers) {
  let most = 0;
  for (const y of values) if (y > most && y < Infinity) most = y;
  return most;
}

const count = (room: number, every: number) => Math.min(MOST, Math.max(1, Math.floor(room / every)));

const round = (x: number) => Math.round(x * 10) / 10;
