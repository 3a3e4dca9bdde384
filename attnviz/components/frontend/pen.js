// A pen that has the methods of a canvas which the painters use, and records what it is told to draw.
//
// What it recorded, `marks`, is written as SVG, as PDF or on a canvas by pen_svg.js, pen_pdf.js and pen_canvas.js, so
// that a picture looks the same in each. A mark is one of
//   { kind: "shape", path, fill | null, stroke | null, lineWidth, dash, ... }
//        path: [["R", x, y, w, h] | ["M" | "L" | "C", ...] | ["Z"]]
//   { kind: "text", text, matrix, size, bold, anchor, width, fill, ... }
//        the text begins (or ends) at (0, 0) of the matrix
//   { kind: "image", image: ImageData, x, y, width, height, smooth, cells, ... }
//        `cells`: few enough to be drawn as rectangles
// each with `alpha`, and `clip`: {path, parent} or null. All are in the picture's own pixels, colours are "#rrggbb".

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
const OWN = ["matrix", "base", "clipping", "opacity", "dash", "paper"];
const STATE = [...Object.keys(PLAIN), ...OWN];
const MOST_CELLS = 64 * 64; // a larger matrix is one image: as rectangles it would be slow to open and no sharper
const ANCHORS = { left: "start", start: "start", center: "middle", right: "end", end: "end" };
// They keep a text's direction to itself on a canvas; every mark is a text of its own.
const ISOLATES = /[\u2066-\u2069]/g;
const HATCH_PITCH = 6; // px from one line of the hatching to the next, measured across

export class Pen {
  /** `paper` is the colour that lies under the picture, or null where nothing does. */
  constructor({ paper = null } = {}) {
    Object.assign(this, PLAIN, {
      marks: [],
      saved: [],
      path: [],
      matrix: IDENTITY,
      base: IDENTITY,
      clipping: null,
      opacity: 1,
      dash: [],
      paper,
    });
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
  within({ x = 0, y = 0, opacity = 1, density = 1 }, work) {
    this.save();
    this.base = times(this.matrix, [1 / density, 0, 0, 1 / density, x, y]);
    Object.assign(this, PLAIN, { matrix: this.base, opacity: this.opacity * opacity, dash: [] });
    work(this);
    this.restore();
  }

  // ---- where

  transform(...matrix) {
    this.matrix = times(this.matrix, matrix);
  }

  setTransform(...matrix) {
    this.matrix = times(this.base, matrix);
  }

  translate(x, y) {
    this.transform(1, 0, 0, 1, x, y);
  }

  rotate(turn) {
    this.transform(Math.cos(turn), Math.sin(turn), -Math.sin(turn), Math.cos(turn), 0, 0);
  }

  /** Where a point is in the picture. */
  place(x, y) {
    return applied(this.matrix, [x, y]);
  }

  scale(x, y) {
    this.transform(x, 0, 0, y, 0, 0);
  }

  // ---- lines and areas

  beginPath() {
    this.path = [];
  }

  moveTo(...at) {
    this.add("M", at);
  }

  lineTo(...at) {
    this.add("L", at);
  }

  bezierCurveTo(...points) {
    this.add("C", points);
  }

  closePath() {
    this.path.push(["Z"]);
  }

  rect(...box) {
    this.path.push(...boxPath(this.matrix, box));
  }

  add(name, points) {
    this.path.push([name, ...applied(this.matrix, points)]);
  }

  clip() {
    this.clipping = { path: this.path, parent: this.clipping };
  }

  fill() {
    this.shape({ path: this.path, ...this.colour("fill", this.fillStyle) });
  }

  stroke() {
    this.strokePath(this.path);
  }

  strokePath(path) {
    const [a, b, c, d] = this.matrix;
    const grown = Math.sqrt(Math.abs(a * d - b * c));
    this.shape({
      path,
      ...this.colour("stroke", this.strokeStyle),
      lineWidth: this.lineWidth * grown,
      dash: this.dash,
    });
  }

  fillRect(...box) {
    if (this.globalCompositeOperation !== "source-over") return; // a fade at an edge: here the clip is the edge
    if (this.fillStyle.hatch) this.hatchRect(box);
    else this.shape({ path: boxPath(this.matrix, box), ...this.colour("fill", this.fillStyle) });
  }

  strokeRect(...box) {
    this.strokePath(boxPath(this.matrix, box));
  }

  /** What lies below can't be taken away again, but paper can cover it. */
  clearRect(...box) {
    if (this.paper) this.shape({ path: boxPath(this.matrix, box), fill: this.paper, alpha: 1 });
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  createPattern(tile) {
    return { hatch: tile.hatch };
  }

  createLinearGradient() {
    return { addColorStop() {} };
  }

  /** Hatching as lines: a pattern would become an image in most programs. */
  hatchRect([x, y, width, height]) {
    const { ground, line, lineWidth } = this.fillStyle.hatch;
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

  measureText(text) {
    return measure(this.font, text);
  }

  fillText(text, x, y) {
    const { size, bold, shift } = fontOf(this.font, this.textBaseline);
    this.mark({
      kind: "text",
      text: String(text).replace(ISOLATES, ""),
      matrix: times(this.matrix, [1, 0, 0, 1, x, y + shift]),
      size,
      bold,
      anchor: ANCHORS[this.textAlign],
      width: this.measureText(text).width,
      ...this.colour("fill", this.fillStyle),
    });
  }

  // ---- images

  drawImage(image, ...numbers) {
    const [sx, sy, sw, sh, dx, dy, dw, dh] =
      numbers.length === 8 ? numbers : [0, 0, image.width, image.height, ...numbers];
    // Whole pixels only; what that is too much lies outside the clip.
    const [left, top] = [Math.floor(sx + 1e-6), Math.floor(sy + 1e-6)];
    const [wide, high] = [Math.ceil(sx + sw - 1e-6) - left, Math.ceil(sy + sh - 1e-6) - top];
    const [across, down] = [dw / sw, dh / sh];
    const pixels = image.getContext("2d").getImageData(left, top, wide, high);
    const box = [dx + (left - sx) * across, dy + (top - sy) * down, wide * across, high * down];
    const smooth = this.imageSmoothingEnabled;
    this.image(pixels, this.matrix, box, { smooth, cells: !smooth && wide * high <= MOST_CELLS });
  }

  /** On a canvas this knows nothing of transforms: the place is in pixels of the screen. */
  putImageData(image, x, y) {
    const kept = new ImageData(new Uint8ClampedArray(image.data), image.width, image.height);
    this.image(kept, this.base, [x, y, image.width, image.height], { smooth: true });
  }

  image(image, matrix, box, { smooth, cells = false }) {
    const [[, x, y, width, height]] = boxPath(matrix, box);
    this.mark({ kind: "image", image, x, y, width, height, smooth, cells, alpha: this.globalAlpha * this.opacity });
  }

  // ---- what is recorded

  colour(name, style) {
    const { hex, alpha } = colourOf(style);
    return { [name]: hex, alpha: alpha * this.globalAlpha * this.opacity };
  }

  shape({ fill = null, stroke = null, lineWidth = 0, dash = [], ...rest }) {
    this.mark({ kind: "shape", fill, stroke, lineWidth, dash, ...rest });
  }

  mark(mark) {
    if (mark.alpha > 0) this.marks.push({ ...mark, clip: this.clipping });
  }
}

const IDENTITY = [1, 0, 0, 1, 0, 0];

function times([a, b, c, d, e, f], [g, h, i, j, k, l]) {
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}

/** Points x0, y0, x1, y1, ... moved by a matrix. */
export function applied([a, b, c, d, e, f], points) {
  const moved = [];
  for (let n = 0; n < points.length; n += 2) {
    const [x, y] = [points[n], points[n + 1]];
    moved.push(a * x + c * y + e, b * x + d * y + f);
  }
  return moved;
}

/** A rectangle under a matrix: one still, or where it is turned four lines. */
function boxPath(matrix, [x, y, width, height]) {
  const corners = applied(matrix, [x, y, x + width, y, x + width, y + height, x, y + height]);
  const [x0, y0, , y1, x2, y2] = corners;
  if (y0 === y1) return [["R", Math.min(x0, x2), Math.min(y0, y2), Math.abs(x2 - x0), Math.abs(y2 - y0)]];
  return [
    ["M", ...corners.slice(0, 2)],
    ["L", ...corners.slice(2, 4)],
    ["L", ...corners.slice(4, 6)],
    ["L", ...corners.slice(6)],
    ["Z"],
  ];
}

// ---- what only a browser's own canvas knows

let scratch = null;
const colours = new Map();
const fonts = new Map();

function canvas() {
  scratch ??= document.createElement("canvas").getContext("2d");
  return scratch;
}

export function measure(font, text) {
  const context = canvas();
  context.font = font;
  context.textBaseline = "alphabetic";
  return context.measureText(text);
}

/** Any colour that a canvas takes as {hex, alpha}. */
export function colourOf(style) {
  if (!colours.has(style)) {
    const context = canvas();
    context.fillStyle = "#000000";
    context.fillStyle = style;
    const own = context.fillStyle; // "#rrggbb" or "rgba(r, g, b, a)"
    const [red, green, blue, alpha] = own.startsWith("#") ? [] : own.match(/[\d.]+/g).map(Number);
    const hex = (channel) => channel.toString(16).padStart(2, "0");
    colours.set(
      style,
      own.startsWith("#") ? { hex: own, alpha: 1 } : { hex: `#${[red, green, blue].map(hex).join("")}`, alpha },
    );
  }
  return colours.get(style);
}

/** A canvas's font as {size, bold, shift}; `shift` is how far the foot of the letters lies below the given line. */
function fontOf(font, baseline) {
  const name = `${baseline} ${font}`;
  if (!fonts.has(name)) {
    const context = canvas();
    context.font = font;
    const top = (line) => {
      context.textBaseline = line;
      return context.measureText("x").actualBoundingBoxAscent;
    };
    const [, weight = "400"] = context.font.match(/\b(bold|\d00)\b/) ?? [];
    const size = Number(context.font.match(/([\d.]+)px/)[1]);
    fonts.set(name, {
      size,
      bold: weight === "bold" || Number(weight) >= 600,
      shift: top("alphabetic") - top(baseline),
    });
  }
  return fonts.get(name);
}
