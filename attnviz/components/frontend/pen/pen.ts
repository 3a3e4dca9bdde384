// A recording canvas context: it has the methods that the painters use, and records each drawing operation.
//
// The recorded `marks` are written as SVG by svg.ts, on a canvas by canvas.ts, and as JSON by recording.ts, from which
// the server writes PDF, so that a picture looks the same in each. A mark is one of
//   { kind: "shape", path, fill | null, stroke | null, lineWidth, dash, ... }
//        path: [["R", x, y, w, h] | ["M" | "L" | "C", ...] | ["Z"]]
//   { kind: "text", text, matrix, size, bold, anchor, width, fill, ... }
//        the text begins (or ends) at (0, 0) of the matrix
//   { kind: "image", image: ImageData, x, y, width, height, smooth, cells, ... }
//        `cells`: few enough to be drawn as rectangles
// each with `alpha`, and `clip`: {path, parent} or null. All are in the picture's own pixels, colours are "#rrggbb".

import { contextOf } from "../core/dom.ts";
import { applied, boxPath, IDENTITY, times } from "./geometry.ts";
import { colourOf, fontOf, measure } from "./measure.ts";

const PLAIN = {
  fillStyle: "#000000",
  strokeStyle: "#000000",
  lineWidth: 1,
  globalAlpha: 1,
  font: "10px sans-serif",
  textAlign: "start",
  textBaseline: "alphabetic",
  direction: "ltr",
  globalCompositeOperation: "source-over",
  imageSmoothingEnabled: true,
};
const OWN: (keyof Pen)[] = ["matrix", "base", "clipping", "opacity", "dash", "paper"];
const STATE = [...(Object.keys(PLAIN) as (keyof typeof PLAIN)[]), ...OWN];
const MOST_CELLS = 64 * 64; // a larger matrix is one image: as rectangles it would be slow to open and no sharper
const ANCHORS: Record<string, Anchor> = { left: "start", start: "start", center: "middle", right: "end", end: "end" };
// They keep a text's direction to itself on a canvas; every mark is a text of its own.
const ISOLATES = /[\u2066-\u2069]/g;
const HATCH_PITCH = 6; // px from one line of the hatching to the next, measured across

export type NewMark = Omit<ShapeMark, "clip"> | Omit<TextMark, "clip"> | Omit<ImageMark, "clip">;
/** what fills with lines */
export type Hatching = { hatch: Hatch };
/** of a pen that is saved */
export type State = Record<string, unknown>;

export class Pen {
  fillStyle: string | object;
  strokeStyle: string | object;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textAlign: string;
  textBaseline: string;
  direction: string;
  globalCompositeOperation: string;
  imageSmoothingEnabled: boolean;
  marks: Mark[] = [];
  saved: State[] = [];
  path: PathStep[] = [];
  matrix: Matrix = IDENTITY;
  base: Matrix = IDENTITY;
  clipping: Clip | null = null;
  opacity = 1;
  dash: number[] = [];
  paper;

  /** `paper` is the colour that lies under the picture, or null where nothing does. */
  constructor({ paper = null }: { paper?: string | null } = {}) {
    this.fillStyle = PLAIN.fillStyle;
    this.strokeStyle = PLAIN.strokeStyle;
    this.lineWidth = PLAIN.lineWidth;
    this.globalAlpha = PLAIN.globalAlpha;
    this.font = PLAIN.font;
    this.textAlign = PLAIN.textAlign;
    this.textBaseline = PLAIN.textBaseline;
    this.direction = PLAIN.direction;
    this.globalCompositeOperation = PLAIN.globalCompositeOperation;
    this.imageSmoothingEnabled = PLAIN.imageSmoothingEnabled;
    this.paper = paper;
  }

  save() {
    this.saved.push(Object.fromEntries(STATE.map((name) => [name, this[name]])));
  }

  restore() {
    Object.assign(this, this.saved.pop());
  }

  /**
   * Draws a picture that knows nothing of its place: at (x, y), as pale as `opacity` says, `density` of its pixels in
   * one of ours.
   */
  within(
    { x = 0, y = 0, opacity = 1, density = 1 }: { x?: number; y?: number; opacity?: number; density?: number },
    work: (pen: Pen) => void,
  ) {
    this.save();
    this.base = times(this.matrix, [1 / density, 0, 0, 1 / density, x, y]);
    Object.assign(this, PLAIN, { matrix: this.base, opacity: this.opacity * opacity, dash: [] });
    work(this);
    this.restore();
  }

  // ---- where

  transform(...matrix: Matrix) {
    this.matrix = times(this.matrix, matrix);
  }

  setTransform(...matrix: Matrix) {
    this.matrix = times(this.base, matrix);
  }

  translate(x: number, y: number) {
    this.transform(1, 0, 0, 1, x, y);
  }

  rotate(turn: number) {
    this.transform(Math.cos(turn), Math.sin(turn), -Math.sin(turn), Math.cos(turn), 0, 0);
  }

  /** Where a point is in the picture. */
  place(x: number, y: number) {
    return applied(this.matrix, [x, y]);
  }

  scale(x: number, y: number) {
    this.transform(x, 0, 0, y, 0, 0);
  }

  // ---- lines and areas

  beginPath() {
    this.path = [];
  }

  moveTo(...at: number[]) {
    this.add("M", at);
  }

  lineTo(...at: number[]) {
    this.add("L", at);
  }

  bezierCurveTo(...points: number[]) {
    this.add("C", points);
  }

  closePath() {
    this.path.push(["Z"]);
  }

  rect(...box: number[]) {
    this.path.push(...boxPath(this.matrix, box));
  }

  add(name: string, points: number[]) {
    this.path.push([name, ...applied(this.matrix, points)]);
  }

  clip() {
    this.clipping = { path: this.path, parent: this.clipping };
  }

  fill() {
    this.fillPath(this.path);
  }

  fillPath(path: PathStep[]) {
    const { hex, alpha } = this.colour(this.fillStyle);
    this.shape({ path, fill: hex, alpha });
  }

  stroke() {
    this.strokePath(this.path);
  }

  strokePath(path: PathStep[]) {
    const [a, b, c, d] = this.matrix;
    const grown = Math.sqrt(Math.abs(a * d - b * c));
    const { hex, alpha } = this.colour(this.strokeStyle);
    this.shape({ path, stroke: hex, lineWidth: this.lineWidth * grown, dash: this.dash, alpha });
  }

  fillRect(...box: number[]) {
    if (this.globalCompositeOperation !== "source-over") return; // a fade at an edge: here the clip is the edge
    const { hatch } = this.fillStyle as Partial<Hatching>;
    if (hatch) this.hatchRect(box, hatch);
    else this.fillPath(boxPath(this.matrix, box));
  }

  strokeRect(...box: number[]) {
    this.strokePath(boxPath(this.matrix, box));
  }

  /** What lies below can't be taken away again, but paper can cover it. */
  clearRect(...box: number[]) {
    if (this.paper) this.shape({ path: boxPath(this.matrix, box), fill: this.paper, alpha: 1 });
  }

  setLineDash(dash: number[]) {
    this.dash = dash;
  }

  createPattern(tile: HatchTile): Hatching {
    return { hatch: tile.hatch };
  }

  createLinearGradient() {
    return { addColorStop() {} };
  }

  /** Hatching as lines: a pattern would become an image in most programs. */
  hatchRect([x, y, width, height]: number[], { ground, line, lineWidth, reason }: Hatch) {
    this.save();
    Object.assign(this, { fillStyle: ground, strokeStyle: line, lineWidth });
    this.fillRect(x, y, width, height);
    this.beginPath();
    this.rect(x, y, width, height);
    this.clip();
    this.beginPath();
    for (let at = HATCH_PITCH / 2; at < width + height; at += HATCH_PITCH) {
      const [near, far] = [at + 1, at - height - 1];
      if (reason !== "window") {
        this.moveTo(x + near, y - 1);
        this.lineTo(x + far, y + height + 1);
      }
      if (reason !== "future") {
        this.moveTo(x + width - near, y - 1);
        this.lineTo(x + width - far, y + height + 1);
      }
    }
    this.stroke();
    this.restore();
  }

  // ---- words

  measureText(text: string) {
    return measure(this.font, text);
  }

  fillText(text: string, x: number, y: number) {
    const { size, bold, shift } = fontOf(this.font, this.textBaseline);
    const { hex, alpha } = this.colour(this.fillStyle);
    this.mark({
      kind: "text",
      text: String(text).replace(ISOLATES, ""),
      matrix: times(this.matrix, [1, 0, 0, 1, x, y + shift]),
      size,
      bold,
      anchor: ANCHORS[this.textAlign],
      width: this.measureText(text).width,
      fill: hex,
      alpha,
    });
  }

  // ---- images

  /** @param box [x, y, width, height] of the image, then where they are drawn */
  drawImage(image: HTMLCanvasElement, ...[sx, sy, sw, sh, dx, dy, dw, dh]: [...BoxNumbers, ...BoxNumbers]) {
    // Whole pixels only; what that is too much lies outside the clip.
    const [left, top] = [Math.floor(sx + 1e-6), Math.floor(sy + 1e-6)];
    const [wide, high] = [Math.ceil(sx + sw - 1e-6) - left, Math.ceil(sy + sh - 1e-6) - top];
    const [across, down] = [dw / sw, dh / sh];
    const pixels = contextOf(image).getImageData(left, top, wide, high);
    const box = [dx + (left - sx) * across, dy + (top - sy) * down, wide * across, high * down];
    const smooth = this.imageSmoothingEnabled;
    this.image(pixels, this.matrix, box, { smooth, cells: !smooth && wide * high <= MOST_CELLS });
  }

  /** On a canvas this knows nothing of transforms: the place is in pixels of the screen. */
  putImageData(image: ImageData, x: number, y: number) {
    const kept = new ImageData(new Uint8ClampedArray(image.data), image.width, image.height);
    this.image(kept, this.base, [x, y, image.width, image.height], { smooth: true });
  }

  image(
    image: ImageData,
    matrix: Matrix,
    box: number[],
    { smooth, cells = false }: { smooth: boolean; cells?: boolean },
  ) {
    const [[, x, y, width, height]] = boxPath(matrix, box);
    this.mark({ kind: "image", image, x, y, width, height, smooth, cells, alpha: this.globalAlpha * this.opacity });
  }

  // ---- what is recorded

  colour(style: string | object) {
    const { hex, alpha } = colourOf(String(style));
    return { hex, alpha: alpha * this.globalAlpha * this.opacity };
  }

  shape({
    path,
    fill = null,
    stroke = null,
    lineWidth = 0,
    dash = [],
    alpha,
  }: Partial<ShapeMark> & { path: PathStep[]; alpha: number }) {
    this.mark({ kind: "shape", path, fill, stroke, lineWidth, dash, alpha });
  }

  mark(mark: NewMark) {
    if (mark.alpha > 0) this.marks.push({ ...mark, clip: this.clipping } as Mark);
  }
}
