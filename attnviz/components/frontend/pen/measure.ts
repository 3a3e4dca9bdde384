// Uses a canvas to measure texts and to parse colours and font names.

import { contextOf } from "../core/dom.ts";

let scratch: CanvasRenderingContext2D | null = null;
const colours: Map<string, { hex: string; alpha: number }> = new Map();
const fonts: Map<string, { size: number; bold: boolean; shift: number }> = new Map();

function canvas() {
  scratch ??= contextOf(document.createElement("canvas"));
  return scratch;
}

export function measure(font: string, text: string) {
  const context = canvas();
  context.font = font;
  context.textBaseline = "alphabetic";
  return context.measureText(text);
}

/** Any colour that a canvas takes as {hex, alpha}. */
export function colourOf(style: string) {
  const known = colours.get(style);
  if (known) return known;
  const context = canvas();
  context.fillStyle = "#000000";
  context.fillStyle = style;
  const own = String(context.fillStyle); // "#rrggbb", "rgba(r, g, b, a)", or of a mixed colour "color(srgb r g b / a)"
  const most = own.startsWith("color(") ? 1 : 255;
  const [red = 0, green = 0, blue = 0, alpha = 1] = (own.match(/[\d.]+(?:e-?\d+)?/g) ?? []).map(Number);
  const of255 = [red, green, blue].map((channel) => Math.round((channel * 255) / most));
  const hex = of255.map((channel) => channel.toString(16).padStart(2, "0")).join("");
  const found = own.startsWith("#") ? { hex: own, alpha: 1 } : { hex: `#${hex}`, alpha };
  colours.set(style, found);
  return found;
}

/**
 * A canvas's font as {size, bold, shift}; `shift` is how far the foot of the letters lies below the given line.
 */
export function fontOf(font: string, baseline: string) {
  const name = `${baseline} ${font}`;
  const known = fonts.get(name);
  if (known) return known;
  const context = canvas();
  context.font = font;
  const top = (line: string) => {
    context.textBaseline = line as CanvasTextBaseline;
    return context.measureText("x").actualBoundingBoxAscent;
  };
  const [, weight = "400"] = context.font.match(/\b(bold|\d00)\b/) ?? [];
  const [, size] = context.font.match(/([\d.]+)px/) ?? [];
  const bold = weight === "bold" || Number(weight) >= 600;
  const found = { size: Number(size), bold, shift: top("alphabetic") - top(baseline) };
  fonts.set(name, found);
  return found;
}
