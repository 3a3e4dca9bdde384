// Draws recorded marks on a canvas.

import { contextOf } from "../core/dom.js";
import { measure } from "./measure.js";

/**
 * Draws {marks, width, height, paper} on a new canvas, `scale` pixels of it for one of the picture's.
 * @param {Pick<Sheet, "marks" | "width" | "height" | "paper">} sheet @param {{ scale?: number, family: string }} how
 */
export function toCanvas({ marks, width, height, paper }, { scale = 1, family }) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
  const context = contextOf(canvas);
  if (paper) {
    context.fillStyle = paper;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  for (const mark of marks) {
    context.save();
    context.scale(scale, scale);
    clipTo(context, mark.clip);
    context.globalAlpha = mark.alpha;
    if (mark.kind === "shape") drawShape(context, mark);
    else if (mark.kind === "text") drawText(context, mark, family);
    else drawImage(context, mark);
    context.restore();
  }
  return canvas;
}

/** @param {CanvasRenderingContext2D} context @param {Clip | null} clip */
function clipTo(context, clip) {
  if (!clip) return;
  clipTo(context, clip.parent);
  trace(context, clip.path);
  context.clip();
}

/** @param {CanvasRenderingContext2D} context @param {PathStep[]} path */
function trace(context, path) {
  context.beginPath();
  for (const [name, x, y, ...more] of path) {
    if (name === "M") context.moveTo(x, y);
    else if (name === "L") context.lineTo(x, y);
    else if (name === "C") context.bezierCurveTo(x, y, more[0], more[1], more[2], more[3]);
    else if (name === "R") context.rect(x, y, more[0], more[1]);
    else context.closePath();
  }
}

/** @param {CanvasRenderingContext2D} context @param {ShapeMark} mark */
function drawShape(context, { path, fill, stroke, lineWidth, dash }) {
  trace(context, path);
  if (fill) {
    context.fillStyle = fill;
    context.fill();
  }
  if (!stroke) return;
  Object.assign(context, { strokeStyle: stroke, lineWidth });
  context.setLineDash(dash);
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {TextMark} mark @param {string} family */
function drawText(context, { text, matrix, size, bold, anchor, fill }, family) {
  context.transform(...matrix);
  /** @type {Record<Anchor, CanvasTextAlign>} */
  const align = { start: "left", middle: "center", end: "right" };
  Object.assign(context, {
    font: fontName({ size, bold }, family),
    textAlign: align[anchor],
    direction: "ltr",
    fillStyle: fill,
  });
  context.fillText(`\u2068${text}\u2069`, 0, 0);
}

/** @param {CanvasRenderingContext2D} context @param {ImageMark} mark */
function drawImage(context, { image, x, y, width, height, smooth }) {
  Object.assign(context, { imageSmoothingEnabled: smooth, imageSmoothingQuality: "high" });
  context.drawImage(canvasOf(image), x, y, width, height);
}

/** @param {{ size: number, bold: boolean }} looks @param {string} family */
export const fontName = ({ size, bold }, family) => `${bold ? "600 " : ""}${size}px ${family}`;

/**
 * A canvas with these pixels.
 * @param {ImageData} image
 */
export function canvasOf(image) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  contextOf(canvas).putImageData(image, 0, 0);
  return canvas;
}

/**
 * A text on a canvas of its own, as large as it needs: {canvas, x, y, width, height}, the place that it has beside its
 * start.
 * @param {TextMark} mark @param {{ scale: number, family: string }} how
 */
export function textImage({ text, size, bold, fill, width }, { scale, family }) {
  const font = fontName({ size, bold }, family);
  const found = measure(font, text);
  const [up, down] = [
    Math.ceil(Math.max(found.actualBoundingBoxAscent, size)) + 2,
    Math.ceil(Math.max(found.actualBoundingBoxDescent, size * 0.4)) + 2,
  ];
  const wide = Math.ceil(width) + 8;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [wide * scale, (up + down) * scale];
  const context = contextOf(canvas);
  context.scale(scale, scale);
  Object.assign(context, { font, direction: "ltr", fillStyle: fill });
  context.fillText(`\u2068${text}\u2069`, 4, up);
  return { canvas, x: -4, y: -up, width: wide, height: up + down };
}
