// A recording canvas context: it has the methods that the painters use, and records each drawing operation.
//
// The recorded `marks` are written as SVG by svg.js, on a canvas by canvas.js, and as JSON by recording.js, from which
// the server writes PDF, so that a picture looks the same in each. A mark is one of
//   { kind: "shape", path, fill | null, stroke | null, lineWidth, dash, ... }
//        path: [["R", x, y, w, h] | ["M" | "L" | "C", ...] | ["Z"]]
//   { kind: "text", text, matrix, size, bold, anchor, width, fill, ... }
//        the text begins (or ends) at (0, 0) of the matrix
//   { kind: "image", image: ImageData, x, y, width, height, smooth, cells, ... }
//        `cells`: few enough to be drawn as rectangles
// each with `alpha`, and `clip`: {path, parent} or null. All are in the picture's own pixels, colours are "#rrggbb".

import { contextOf } from "../core/dom.js";
import { applied, boxPath, IDENTITY, times } from "./geometry.js";
import { colourOf, fontOf, measure } from "./measure.js";

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
/** @type {(keyof Pen)[]} */
const OWN = ["matrix", "base", "clipping", "opacity", "dash", "paper"];
const STATE = [.../** @type {(keyof typeof PLAIN)[]} */ (Object.keys(PLAIN)), ...OWN];
const MOST_CELLS = 64 * 64; // a larger matrix is one image: as rectangles it would be slow to open and no sharper
/** @type {Record<string, Anchor>} */
const ANCHORS = { left: "start", start: "start", center: "middle", right: "end", end: "end" };
// They keep a text's direction to itself on a canvas; every mark is a text of its own.
const ISOLATES = /[\u2066-\u2069]/g;
const HATCH_PITCH = 6; // px from one line of the hatching to the next, measured across

/** @typedef {Omit<ShapeMark, "clip"> | Omit<TextMark, "clip"> | Omit<ImageMark, "clip">} NewMark */
/** @typedef {{ hatch: Hatch }} Hatching what fills with lines */
/** @typedef {Record<string, unknown>} State of a pen that is saved */

export class Pen {
  /**
   * `paper` is the colour that lies under the picture, or null where nothing does.
   * @param {{ paper?: string | null }} on
   */
  constructor({ paper = null } = {}) {
    /** @type {string | object} */
    this.fillStyle = PLAIN.fillStyle;
    /** @type {string | object} */
    this.strokeStyle = PLAIN.strokeStyle;
    this.lineWidth = PLAIN.lineWidth;
    this.globalAlpha = PLAIN.globalAlpha;
    this.font = PLAIN.font;
    this.textAlign = PLAIN.textAlign;
    this.textBaseline = PLAIN.textBaseline;
    this.direction = PLAIN.direction;
    this.globalCompositeOperation = PLAIN.globalCompositeOperation;
    this.imageSmoothingEnabled = PLAIN.imageSmoothingEnabled;
    /** @type {Mark[]} */
    this.marks = [];
    /** @type {State[]} */
    this.saved = [];
    /** @type {PathStep[]} */
    this.path = [];
    this.matrix = IDENTITY;
    this.base = IDENTITY;
    /** @type {Clip | null} */
    this.clipping = null;
    this.opacity = 1;
    /** @type {number[]} */
    this.dash = [];
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
   * @param {{ x?: number, y?: number, opacity?: number, density?: number }} where @param {(pen: Pen) => void} work
   */
  within({ x = 0, y = 0, opacity = 1, density = 1 }, work) {
    this.save();
    this.base = times(this.matrix, [1 / density, 0, 0, 1 / density, x, y]);
    Object.assign(this, PLAIN, { matrix: this.base, opacity: this.opacity * opacity, dash: [] });
    work(this);
    this.restore();
  }

  // ---- where

  /** @param {Matrix} matrix */
  transform(...matrix) {
    this.matrix = times(this.matrix, matrix);
  }

  /** @param {Matrix} matrix */
  setTransform(...matrix) {
    this.matrix = times(this.base, matrix);
  }

  /** @param {number} x @param {number} y */
  translate(x, y) {
    this.transform(1, 0, 0, 1, x, y);
  }

  /** @param {number} turn */
  rotate(turn) {
    this.transform(Math.cos(turn), Math.sin(turn), -Math.sin(turn), Math.cos(turn), 0, 0);
  }

  /**
   * Where a point is in the picture.
   * @param {number} x @param {number} y
   */
  place(x, y) {
    return applied(this.matrix, [x, y]);
  }

  /** @param {number} x @param {number} y */
  scale(x, y) {
    this.transform(x, 0, 0, y, 0, 0);
  }

  // ---- lines and areas

  beginPath() {
    this.path = [];
  }

  /** @param {number[]} at */
  moveTo(...at) {
    this.add("M", at);
  }

  /** @param {number[]} at */
  lineTo(...at) {
    this.add("L", at);
  }

  /** @param {number[]} points */
  bezierCurveTo(...points) {
    this.add("C", points);
  }

  closePath() {
    this.path.push(["Z"]);
  }

  /** @param {number[]} box */
  rect(...box) {
    this.path.push(...boxPath(this.matrix, box));
  }

  /** @param {string} name @param {number[]} points */
  add(name, points) {
    this.path.push([name, ...applied(this.matrix, points)]);
  }

  clip() {
    this.clipping = { path: this.path, parent: this.clipping };
  }

  fill() {
    this.fillPath(this.path);
  }

  /** @param {PathStep[]} path */
  fillPath(path) {
    const { hex, alpha } = this.colour(this.fillStyle);
    this.shape({ path, fill: hex, alpha });
  }

  stroke() {
    this.strokePath(this.path);
  }

  /** @param {PathStep[]} path */
  strokePath(path) {
    const [a, b, c, d] = this.matrix;
    const grown = Math.sqrt(Math.abs(a * d - b * c));
    const { hex, alpha } = this.colour(this.strokeStyle);
    this.shape({ path, stroke: hex, lineWidth: this.lineWidth * grown, dash: this.dash, alpha });
  }

  /** @param {number[]} box */
  fillRect(...box) {
    if (this.globalCompositeOperation !== "source-over") return; // a fade at an edge: here the clip is the edge
    const { hatch } = /** @type {Partial<Hatching>} */ (this.fillStyle);
    if (hatch) this.hatchRect(box, hatch);
    else this.fillPath(boxPath(this.matrix, box));
  }

  /** @param {number[]} box */
  strokeRect(...box) {
    this.strokePath(boxPath(this.matrix, box));
  }

  /**
   * What lies below can't be taken away again, but paper can cover it.
   * @param {number[]} box
   */
  clearRect(...box) {
    if (this.paper) this.shape({ path: boxPath(this.matrix, box), fill: this.paper, alpha: 1 });
  }

  /** @param {number[]} dash */
  setLineDash(dash) {
    this.dash = dash;
  }

  /** @param {HatchTile} tile @returns {Hatching} */
  createPattern(tile) {
    return { hatch: tile.hatch };
  }

  createLinearGradient() {
    return { addColorStop() {} };
  }

  /**
   * Hatching as lines: a pattern would become an image in most programs.
   * @param {number[]} box @param {Hatch} hatch
   */
  hatchRect([x, y, width, height], { ground, line, lineWidth }) {
    this.save();
    Object.assign(this, { fillStyle: ground, strokeStyle: line, lineWidth });
    this.fillRect(x, y, width, height);
    this.beginPath();
    this.rect(x, y, width, height);
    this.clip();
    this.beginPath();
    for (let at = HATCH_PITCH / 2; at < width + height; at += HATCH_PITCH) {
      this.moveTo(x + at + 1, y - 1);
      this.lineTo(x + at - height - 1, y + height + 1);
    }
    this.stroke();
    this.restore();
  }

  // ---- words

  /** @param {string} text */
  measureText(text) {
    return measure(this.font, text);
  }

  /** @param {string} text @param {number} x @param {number} y */
  fillText(text, x, y) {
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

  /** @param {HTMLCanvasElement} image @param {number[]} numbers */
  drawImage(image, ...numbers) {
    const [sx, sy, sw, sh, dx, dy, dw, dh] =
      numbers.length === 8 ? numbers : [0, 0, image.width, image.height, ...numbers];
    // Whole pixels only; what that is too much lies outside the clip.
    const [left, top] = [Math.floor(sx + 1e-6), Math.floor(sy + 1e-6)];
    const [wide, high] = [Math.ceil(sx + sw - 1e-6) - left, Math.ceil(sy + sh - 1e-6) - top];
    const [across, down] = [dw / sw, dh / sh];
    const pixels = contextOf(image).getImageData(left, top, wide, high);
    const box = [dx + (left - sx) * across, dy + (top - sy) * down, wide * across, high * down];
    const smooth = this.imageSmoothingEnabled;
    this.image(pixels, this.matrix, box, { smooth, cells: !smooth && wide * high <= MOST_CELLS });
  }

  /**
   * On a canvas this knows nothing of transforms: the place is in pixels of the screen.
   * @param {ImageData} image @param {number} x @param {number} y
   */
  putImageData(image, x, y) {
    const kept = new ImageData(new Uint8ClampedArray(image.data), image.width, image.height);
    this.image(kept, this.base, [x, y, image.width, image.height], { smooth: true });
  }

  /**
   * @param {ImageData} image @param {Matrix} matrix @param {number[]} box
   * @param {{ smooth: boolean, cells?: boolean }} looks
   */
  image(image, matrix, box, { smooth, cells = false }) {
    const [[, x, y, width, height]] = boxPath(matrix, box);
    this.mark({ kind: "image", image, x, y, width, height, smooth, cells, alpha: this.globalAlpha * this.opacity });
  }

  // ---- what is recorded

  /** @param {string | object} style */
  colour(style) {
    const { hex, alpha } = colourOf(String(style));
    return { hex, alpha: alpha * this.globalAlpha * this.opacity };
  }

  /** @param {Partial<ShapeMark> & { path: PathStep[], alpha: number }} shape */
  shape({ path, fill = null, stroke = null, lineWidth = 0, dash = [], alpha }) {
    this.mark({ kind: "shape", path, fill, stroke, lineWidth, dash, alpha });
  }

  /** @param {NewMark} mark */
  mark(mark) {
    if (mark.alpha > 0) this.marks.push(/** @type {Mark} */ ({ ...mark, clip: this.clipping }));
  }
}
