// Writes a sheet as SVG, PNG or PDF, entirely in the browser; only the font is fetched from our server, once.

import { toCanvas } from "./pen_canvas.js";
import { Font } from "./pen_font.js";
import { toPdf } from "./pen_pdf.js";
import { toSvg } from "./pen_svg.js";

const MOST_PIXELS = 2 ** 26; // what a canvas may have everywhere
/** @type {Map<string, Promise<Font>>} */
const loading = new Map();

/**
 * Loads the font's two weights from {regular: path, bold: path}.
 * @param {Fonts<string>} paths @returns {Promise<Fonts>}
 */
async function loadFonts(paths) {
  const [regular, bold] = await Promise.all([paths.regular, paths.bold].map(load));
  return { regular, bold };
}

/** @param {string} path */
function load(path) {
  const known = loading.get(path);
  if (known) return known;
  const font = fetchFont(path).catch((why) => {
    loading.delete(path); // the next try asks again
    throw why;
  });
  loading.set(path, font);
  return font;
}

/** @param {string} path */
async function fetchFont(path) {
  const base = import.meta.url.split("/_stcore/")[0];
  const answer = await fetch(base + path);
  if (!answer.ok) throw new Error("The font did not arrive from the server. Try again, or take PNG, which needs none.");
  return new Font(await answer.arrayBuffer());
}

/**
 * Makes a Blob of a sheet; `format` is svg, png or pdf. An Error's message is a sentence to show.
 * @param {Sheet} sheet @param {string} format @param {{ scale: number, fonts: Fonts<string>, family: string }} how
 */
export async function makeFile(sheet, format, { scale, fonts, family }) {
  if (format === "png") return pngOf(sheet, { scale, family });
  const loaded = await loadFonts(fonts);
  if (format === "pdf") return toPdf(sheet, loaded, family);
  return new Blob([await toSvg(sheet, loaded)], { type: "image/svg+xml" });
}

/** @param {Sheet} sheet @param {{ scale: number, family: string }} how @returns {Promise<Blob>} */
export async function pngOf(sheet, { scale, family }) {
  if (sheet.width * sheet.height * scale ** 2 > MOST_PIXELS) {
    throw new Error(`The picture is too large for ${scale}×. Take a smaller size, or SVG.`);
  }
  const canvas = toCanvas(sheet, { scale, family });
  /** @type {Blob | null} */
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error("The browser could not make the picture. Take a smaller size, or SVG.");
  return blob;
}
