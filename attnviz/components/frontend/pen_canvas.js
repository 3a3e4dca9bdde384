// Draws a record of marks on a canvas.

import { measure } from "./pen.js";

/** Draws {marks, width, height, paper} on a new canvas, `scale` pixels of it for one of the picture's. */
export function toCanvas({ marks, width, height, paper }, { scale = 1, family }) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
  const context = canvas.getContext("2d");
  if (paper) {
    context.fillStyle = paper;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  for (const mark of marks) {
    context.save();
    context.scale(scale, scale);
    clipTo(context, mark.clip);
    context.globalAlpha = mark.alpha;
    DRAW[mark.kind](context, mark, family);
    context.restore();
  }
  return canvas;
}

function clipTo(context, clip) {
  if (!clip) return;
  clipTo(context, clip.parent);
  trace(context, clip.path);
  context.clip();
}

function trace(context, path) {
  context.beginPath();
  const draw = { M: "moveTo", L: "lineTo", C: "bezierCurveTo", R: "rect", Z: "closePath" };
  for (const [name, ...numbers] of path) context[draw[name]](...numbers);
}

const DRAW = {
  shape(context, { path, fill, stroke, lineWidth, dash }) {
    trace(context, path);
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (!stroke) return;
    Object.assign(context, { strokeStyle: stroke, lineWidth });
    context.setLineDash(dash);
    context.stroke();
  },

  text(context, { text, matrix, size, bold, anchor, fill }, family) {
    context.transform(...matrix);
    const align = { start: "left", middle: "center", end: "right" };
    Object.assign(context, {
      font: fontName({ size, bold }, family),
      textAlign: align[anchor],
      direction: "ltr",
      fillStyle: fill,
    });
    context.fillText(`\u2068${text}\u2069`, 0, 0);
  },

  image(context, { image, x, y, width, height, smooth }) {
    Object.assign(context, { imageSmoothingEnabled: smooth, imageSmoothingQuality: "high" });
    context.drawImage(canvasOf(image), x, y, width, height);
  },
};

export const fontName = ({ size, bold }, family) => `${bold ? "600 " : ""}${size}px ${family}`;

/** A canvas with these pixels. */
export function canvasOf(image) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/**
 * A text on a canvas of its own, as large as it needs: {canvas, x, y, width, height}, the place that it has beside its
 * start.
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
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  Object.assign(context, { font, direction: "ltr", fillStyle: fill });
  context.fillText(`\u2068${text}\u2069`, 4, up);
  return { canvas, x: -4, y: -up, width: wide, height: up + down };
}
