// Draws recorded marks on a canvas.

import { contextOf } from "../core/dom.ts";
import { measure } from "./measure.ts";

/** Draws {marks, width, height, paper} on a new canvas, `scale` pixels of it for one of the picture's. */
export function toCanvas(
  { marks, width, height, paper }: Pick<Sheet, "marks" | "width" | "height" | "paper">,
  { scale = 1, family }: { scale?: number; family: string },
) {
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

function clipTo(context: CanvasRenderingContext2D, clip: Clip | null) {
  if (!clip) return;
  clipTo(context, clip.parent);
  trace(context, clip.path);
  context.clip();
}

function trace(context: CanvasRenderingContext2D, path: PathStep[]) {
  context.beginPath();
  for (const [name, x, y, ...more] of path) {
    if (name === "M") context.moveTo(x, y);
    else if (name === "L") context.lineTo(x, y);
    else if (name === "C") context.bezierCurveTo(x, y, more[0], more[1], more[2], more[3]);
    else if (name === "R") context.rect(x, y, more[0], more[1]);
    else context.closePath();
  }
}

function drawShape(context: CanvasRenderingContext2D, { path, fill, stroke, lineWidth, dash }: ShapeMark) {
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

function drawText(
  context: CanvasRenderingContext2D,
  { text, matrix, size, bold, anchor, fill }: TextMark,
  family: string,
) {
  context.transform(...matrix);
  const align: Record<Anchor, CanvasTextAlign> = { start: "left", middle: "center", end: "right" };
  Object.assign(context, {
    font: fontName({ size, bold }, family),
    textAlign: align[anchor],
    direction: "ltr",
    fillStyle: fill,
  });
  context.fillText(`\u2068${text}\u2069`, 0, 0);
}

function drawImage(context: CanvasRenderingContext2D, { image, x, y, width, height, smooth }: ImageMark) {
  Object.assign(context, { imageSmoothingEnabled: smooth, imageSmoothingQuality: "high" });
  context.drawImage(canvasOf(image), x, y, width, height);
}

export const fontName = ({ size, bold }: { size: number; bold: boolean }, family: string) =>
  `${bold ? "600 " : ""}${size}px ${family}`;

/** A canvas with these pixels. */
export function canvasOf(image: ImageData) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  contextOf(canvas).putImageData(image, 0, 0);
  return canvas;
}

/**
 * A text on a canvas of its own, as large as it needs: {canvas, x, y, width, height}, the place that it has beside its
 * start.
 */
export function textImage(
  { text, size, bold, fill, width }: TextMark,
  { scale, family }: { scale: number; family: string },
) {
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
