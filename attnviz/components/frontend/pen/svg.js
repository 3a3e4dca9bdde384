// Writes recorded marks as SVG 1.1: text as text, cells as rectangles, with an embedded font.

import { canvasOf } from "./canvas.js";

// PowerPoint and Keynote take no font from the file: then one that is there and about as narrow.
const FALLBACK = "'Source Sans', 'Source Sans 3', 'Source Sans Pro', Calibri, Carlito, 'Segoe UI', Arial, sans-serif";
export const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const UNWRITABLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // what XML 1.0 has no place for
/** @type {Record<string, string>} */
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const IMAGE_NOTE =
  "More than 64 by 64 cells: one image with a pixel for each, drawn with hard edges, " +
  "for as rectangles it would open slowly.";

/**
 * Writes {marks, width, height, paper, title, caption}; `fonts` are WOFF2 files in base64, "" for none.
 * @param {Sheet} sheet @param {Weights} fonts
 */
export function toSvg({ marks, width, height, paper, title, caption }, fonts) {
  const faces = [face(fonts.regular, 400), face(fonts.bold, 600)];
  const [wide, high] = [short(width), short(height)];
  const body = new Body();
  for (const mark of marks) body.write(mark);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}" `,
    `font-family="${FALLBACK}">\n`,
    `<title>${written(title)}</title>\n<desc>${written(caption)}</desc>\n`,
    `<style>${faces.join("\n")}\ntext{white-space:pre}</style>\n`,
    paper ? `<rect width="${wide}" height="${high}" fill="${paper}"/>\n` : "",
    ...body.finish(),
    "</svg>\n",
  ].join("");
}

/** @param {string} file @param {number} weight */
function face(file, weight) {
  if (!file) return "";
  const source = `url(data:font/woff2;base64,${file}) format("woff2")`;
  return `@font-face{font-family:"Source Sans";font-weight:${weight};src:${source}}`;
}

/**
 * The characters that are written in a weight, each once.
 * @param {Mark[]} marks @param {boolean} bold
 */
export function charactersOf(marks, bold) {
  const all = marks.flatMap((mark) => (mark.kind === "text" && mark.bold === bold ? [...mark.text] : []));
  return [...new Set(all)].sort().join("");
}

class Body {
  constructor() {
    /** @type {string[]} */
    this.lines = [];
    /** @type {Clip[]} the clips that the next element lies in */
    this.open = [];
    /** @type {Map<Clip, number>} */
    this.clips = new Map();
  }

  /** @param {Mark} mark */
  write(mark) {
    this.within(chain(mark.clip));
    if (mark.kind === "shape") this.lines.push(shapeElement(mark));
    else if (mark.kind === "text") this.lines.push(textElement(mark));
    else this.lines.push(mark.cells ? cells(mark) : embedded(mark));
  }

  /**
   * Closes and opens groups until the next element lies in these clips and no others.
   * @param {Clip[]} clips
   */
  within(clips) {
    const shared = this.open.findIndex((clip, n) => clip !== clips[n]);
    const kept = shared === -1 ? this.open.length : shared;
    for (let n = this.open.length; n > kept; n -= 1) this.lines.push("</g>\n");
    for (const clip of clips.slice(kept)) {
      this.lines.push(`${this.define(clip)}<g clip-path="url(#clip${this.clips.get(clip)})">\n`);
    }
    this.open = clips;
  }

  /** @param {Clip} clip */
  define(clip) {
    if (this.clips.has(clip)) return "";
    this.clips.set(clip, this.clips.size);
    return `<clipPath id="clip${this.clips.get(clip)}">${shape(clip.path)}/></clipPath>\n`;
  }

  finish() {
    this.within([]);
    return this.lines;
  }
}

/**
 * A clip and those around it, the outermost first.
 * @param {Clip | null} clip
 */
export function chain(clip) {
  /** @type {Clip[]} */
  const clips = [];
  for (let at = clip; at; at = at.parent) clips.unshift(at);
  return clips;
}

/** @param {ShapeMark} mark */
function shapeElement({ path, fill, stroke, lineWidth, dash, alpha }) {
  const opacity = alpha < 1 ? ` opacity="${short(alpha, 4)}"` : "";
  const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
  const line = stroke ? ` stroke="${stroke}" stroke-width="${short(lineWidth)}"${dashes}` : "";
  return `${shape(path)} fill="${fill ?? "none"}"${line}${opacity}/>\n`;
}

/** @param {TextMark} mark */
function textElement({ text, matrix, size, bold, anchor, width, fill, alpha }) {
  const [a, b, c, d, e, f] = matrix;
  const plain = a === 1 && b === 0 && c === 0 && d === 1;
  const place = plain
    ? `x="${short(e)}" y="${short(f)}"`
    : `transform="matrix(${matrix.map((x) => short(x, 4)).join(" ")})"`;
  const more = [
    bold ? ' font-weight="600"' : "",
    anchor === "start" ? "" : ` text-anchor="${anchor}"`,
    alpha < 1 ? ` opacity="${short(alpha, 4)}"` : "",
    // In any other font the text has the same width, so nothing overlaps.
    text.trim().length > 1 ? ` textLength="${short(width)}" lengthAdjust="spacingAndGlyphs"` : "",
    RIGHT_TO_LEFT.test(text) ? ' unicode-bidi="plaintext"' : "",
  ].join("");
  return `<text ${place} font-size="${short(size)}"${more} fill="${fill}">${written(text)}</text>\n`;
}

/** @param {ImageMark} mark */
function cells(mark) {
  const group = `<g shape-rendering="crispEdges"${mark.alpha < 1 ? ` opacity="${short(mark.alpha, 4)}"` : ""}>\n`;
  const rects = Array.from(eachCell(mark), ({ x, y, width, height, hex, alpha }) => {
    const opacity = alpha < 1 ? ` fill-opacity="${short(alpha, 4)}"` : "";
    return `<rect ${placed({ x, y, width, height })} fill="${hex}"${opacity}/>\n`;
  });
  return `${group}${rects.join("")}</g>\n`;
}

/**
 * The pixels of an image as rectangles: {x, y, width, height, hex, alpha}; what is transparent is left out.
 * @param {ImageMark} mark
 */
export function* eachCell({ image, x, y, width, height }) {
  const [across, down] = [width / image.width, height / image.height];
  for (let n = 0; n < image.width * image.height; n += 1) {
    const [red, green, blue, alpha] = image.data.subarray(n * 4, n * 4 + 4);
    if (!alpha) continue;
    const hex = `#${[red, green, blue].map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
    const [i, j] = [Math.floor(n / image.width), n % image.width];
    yield { x: x + j * across, y: y + i * down, width: across, height: down, hex, alpha: alpha / 255 };
  }
}

/** @param {ImageMark} mark */
function embedded({ image, x, y, width, height, alpha, smooth }) {
  const opacity = alpha < 1 ? ` opacity="${short(alpha, 4)}"` : "";
  const place = `${placed({ x, y, width, height })} preserveAspectRatio="none"`;
  const data = `${opacity} href="${canvasOf(image).toDataURL("image/png")}"`;
  if (smooth) return `<image ${place}${data}/>\n`;
  return `<!-- ${IMAGE_NOTE} -->\n<image ${place} style="image-rendering:pixelated"${data}/>\n`;
}

/** @param {Box} box */
const placed = ({ x, y, width, height }) =>
  `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;

/**
 * The beginning of an element with a path's outline.
 * @param {PathStep[]} path
 */
function shape(path) {
  if (path.length === 1 && path[0][0] === "R") {
    const [[, x, y, width, height]] = path;
    return `<rect ${placed({ x, y, width, height })}`;
  }
  return `<path d="${path.map(segment).join("")}"`;
}

/** @param {PathStep} step */
function segment([name, ...numbers]) {
  const [x, y, width, height] = numbers.map((value) => short(value));
  if (name === "R") return `M${x} ${y}h${width}v${height}h${short(-numbers[2])}Z`;
  return name + numbers.map((value) => short(value)).join(" ");
}

/**
 * A number without needless digits.
 * @param {number} value @param {number} digits
 */
export function short(value, digits = 2) {
  return String(Number(value.toFixed(digits)));
}

/** @param {string} text */
function written(text) {
  return text.replace(UNWRITABLE, "\ufffd").replace(/[&<>"]/g, (character) => ENTITIES[character]);
}
