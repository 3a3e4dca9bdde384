// Writes recorded marks as SVG 1.1: text as text, cells as rectangles, with an embedded font.

import { RIGHT_TO_LEFT } from "../core/format.ts";
import { canvasOf } from "./canvas.ts";

// PowerPoint and Keynote take no font from the file: then one that is there and about as narrow.
const FALLBACK = "'Source Sans', 'Source Sans 3', 'Source Sans Pro', Calibri, Carlito, 'Segoe UI', Arial, sans-serif";
const UNWRITABLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // what XML 1.0 has no place for
const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const IMAGE_NOTE =
  "More than 64 by 64 cells: one image with a pixel for each, drawn with hard edges, " +
  "for as rectangles it would open slowly.";

/** Writes {marks, width, height, paper, title, caption}; `fonts` are WOFF2 files in base64, "" for none. */
export function toSvg({ marks, width, height, paper, title, caption }: Sheet, fonts: Weights) {
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

function face(file: string, weight: number) {
  if (!file) return "";
  const source = `url(data:font/woff2;base64,${file}) format("woff2")`;
  return `@font-face{font-family:"Source Sans";font-weight:${weight};src:${source}}`;
}

/** The characters that are written in a weight, each once. */
export function charactersOf(marks: Mark[], bold: boolean) {
  const all = marks.flatMap((mark) => (mark.kind === "text" && mark.bold === bold ? [...mark.text] : []));
  return [...new Set(all)].sort().join("");
}

class Body {
  lines: string[] = [];
  /** the clips that the next element lies in */
  open: Clip[] = [];
  clips = new Map<Clip, number>();

  write(mark: Mark) {
    this.within(chain(mark.clip));
    if (mark.kind === "shape") this.lines.push(shapeElement(mark));
    else if (mark.kind === "text") this.lines.push(textElement(mark));
    else this.lines.push(mark.cells ? cells(mark) : embedded(mark));
  }

  /** Closes and opens groups until the next element lies in these clips and no others. */
  within(clips: Clip[]) {
    const shared = this.open.findIndex((clip, n) => clip !== clips[n]);
    const kept = shared === -1 ? this.open.length : shared;
    for (let n = this.open.length; n > kept; n -= 1) this.lines.push("</g>\n");
    for (const clip of clips.slice(kept)) {
      this.lines.push(`${this.define(clip)}<g clip-path="url(#clip${this.clips.get(clip)})">\n`);
    }
    this.open = clips;
  }

  define(clip: Clip) {
    if (this.clips.has(clip)) return "";
    this.clips.set(clip, this.clips.size);
    return `<clipPath id="clip${this.clips.get(clip)}">${shape(clip.path)}/></clipPath>\n`;
  }

  finish() {
    this.within([]);
    return this.lines;
  }
}

/** A clip and those around it, the outermost first. */
export function chain(clip: Clip | null) {
  const clips: Clip[] = [];
  for (let at = clip; at; at = at.parent) clips.unshift(at);
  return clips;
}

function shapeElement({ path, fill, stroke, lineWidth, dash, alpha }: ShapeMark) {
  const opacity = alpha < 1 ? ` opacity="${short(alpha, 4)}"` : "";
  const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
  const line = stroke ? ` stroke="${stroke}" stroke-width="${short(lineWidth)}"${dashes}` : "";
  return `${shape(path)} fill="${fill ?? "none"}"${line}${opacity}/>\n`;
}

function textElement({ text, matrix, size, bold, anchor, width, fill, alpha }: TextMark) {
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

function cells(mark: ImageMark) {
  const group = `<g shape-rendering="crispEdges"${mark.alpha < 1 ? ` opacity="${short(mark.alpha, 4)}"` : ""}>\n`;
  const rects = Array.from(eachCell(mark), ({ x, y, width, height, hex, alpha }) => {
    const opacity = alpha < 1 ? ` fill-opacity="${short(alpha, 4)}"` : "";
    return `<rect ${placed({ x, y, width, height })} fill="${hex}"${opacity}/>\n`;
  });
  return `${group}${rects.join("")}</g>\n`;
}

/**
 * The pixels of an image as rectangles: {x, y, width, height, hex, alpha}; what is transparent is left out.
 */
export function* eachCell({ image, x, y, width, height }: ImageMark) {
  const [across, down] = [width / image.width, height / image.height];
  for (let n = 0; n < image.width * image.height; n += 1) {
    const [red, green, blue, alpha] = image.data.subarray(n * 4, n * 4 + 4);
    if (!alpha) continue;
    const hex = `#${[red, green, blue].map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
    const [i, j] = [Math.floor(n / image.width), n % image.width];
    yield { x: x + j * across, y: y + i * down, width: across, height: down, hex, alpha: alpha / 255 };
  }
}

function embedded({ image, x, y, width, height, alpha, smooth }: ImageMark) {
  const opacity = alpha < 1 ? ` opacity="${short(alpha, 4)}"` : "";
  const place = `${placed({ x, y, width, height })} preserveAspectRatio="none"`;
  const data = `${opacity} href="${canvasOf(image).toDataURL("image/png")}"`;
  if (smooth) return `<image ${place}${data}/>\n`;
  return `<!-- ${IMAGE_NOTE} -->\n<image ${place} style="image-rendering:pixelated"${data}/>\n`;
}

const placed = ({ x, y, width, height }: Box) =>
  `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;

/** The beginning of an element with a path's outline. */
function shape(path: PathStep[]) {
  if (path.length === 1 && path[0][0] === "R") {
    const [[, x, y, width, height]] = path;
    return `<rect ${placed({ x, y, width, height })}`;
  }
  return `<path d="${path.map(segment).join("")}"`;
}

function segment([name, ...numbers]: PathStep) {
  const [x, y, width, height] = numbers.map((value) => short(value));
  if (name === "R") return `M${x} ${y}h${width}v${height}h${short(-numbers[2])}Z`;
  return name + numbers.map((value) => short(value)).join(" ");
}

/** A number without needless digits. */
export function short(value: number, digits = 2) {
  return String(Number(value.toFixed(digits)));
}

function written(text: string) {
  return text.replace(UNWRITABLE, "\ufffd").replace(/[&<>"]/g, (character) => ENTITIES[character]);
}
