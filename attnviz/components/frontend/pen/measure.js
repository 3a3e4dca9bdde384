// Uses a canvas to measure texts and to parse colours and font names.

import { contextOf } from "../core/dom.js";

/** @type {CanvasRenderingContext2D | null} */
let scratch = null;
/** @type {Map<string, { hex: string, alpha: number }>} */
const colours = new Map();
/** @type {Map<string, { size: number, bold: boolean, shift: number }>} */
const fonts = new Map();

function canvas() {
  scratch ??= contextOf(document.createElement("canvas"));
  return scratch;
}

/** @param {string} font @param {string} text */
export function measure(font, text) {
  const context = canvas();
  context.font = font;
  context.textBaseline = "alphabetic";
  return context.measureText(text);
}

/**
 * Any colour that a canvas takes as {hex, alpha}.
 * @param {string} style
 */
export function colourOf(style) {
  const known = colours.get(style);
  if (known) return known;
  const context = canvas();
  context.fillStyle = "#000000";
  context.fillStyle = style;
  const own = String(context.fillStyle); // "#rrggbb" or "rgba(r, g, b, a)"
  const [red = 0, green = 0, blue = 0, alpha = 1] = (own.match(/[\d.]+/g) ?? []).map(Number);
  const hex = [red, green, blue].map((channel) => channel.toString(16).padStart(2, "0")).join("");
  const found = own.startsWith("#") ? { hex: own, alpha: 1 } : { hex: `#${hex}`, alpha };
  colours.set(style, found);
  return found;
}

/**
 * A canvas's font as {size, bold, shift}; `shift` is how far the foot of the letters lies below the given line.
 * @param {string} font @param {string} baseline
 */
export function fontOf(font, baseline) {
  const name = `${baseline} ${font}`;
  const known = fonts.get(name);
  if (known) return known;
  const context = canvas();
  context.font = font;
  /** @param {string} line */
  const top = (line) => {
    context.textBaseline = /** @type {CanvasTextBaseline} */ (line);
    return context.measureText("x").actualBoundingBoxAscent;
  };
  const [, weight = "400"] = context.font.match(/\b(bold|\d00)\b/) ?? [];
  const [, size] = context.font.match(/([\d.]+)px/) ?? [];
  const bold = weight === "bold" || Number(weight) >= 600;
  const found = { size: Number(size), bold, shift: top("alphabetic") - top(baseline) };
  fonts.set(name, found);
  return found;
}
