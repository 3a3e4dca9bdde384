// The colours of all pictures in the browser: one per role, and the colour scales of numbers.

import { HATCH, INK, ON_CELL, SCALES, TEXT_INK } from "./constants.ts";

export { HATCH, INK, SCALES, TEXT_INK };

export type InkName = keyof typeof INK.light;

/**
 * Gives an element the theme that style sheets ask for, and the roles' colours as text in --query, --key, ...
 */
export function setTheme(element: HTMLElement, theme: Theme) {
  element.dataset.theme = theme;
  const { query, key, value, attention } = TEXT_INK[theme];
  for (const [name, colour] of Object.entries({ query, key, value, attention })) {
    element.style.setProperty(`--${name}`, colour);
  }
}

const LEVELS = 512;

/** "#5E3C99" -> [94, 60, 153]. */
export function channels(colour: string) {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

/** The colour at `share`, 0 to 1, of the way along a list of colours. */
export function blend(colours: string[], share: number) {
  const along = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
  const at = Math.min(Math.floor(along), colours.length - 2);
  const [from, to] = [channels(colours[at]), channels(colours[at + 1])];
  return from.map((channel, c) => Math.round(channel + (to[c] - channel) * (along - at)));
}

const tables: Map<string, Uint32Array> = new Map();

/**
 * A table of pixels, as a Uint32Array over RGBA bytes takes them (little-endian), from the lowest value to the highest.
 */
export function pixelTable(colours: string[]) {
  const name = colours.join();
  const known = tables.get(name);
  if (known) return known;
  const table = new Uint32Array(LEVELS);
  for (let level = 0; level < LEVELS; level += 1) {
    const [red, green, blue] = blend(colours, level / (LEVELS - 1));
    table[level] = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }
  tables.set(name, table);
  return table;
}

/**
 * Writes `count` values as pixels, `low` in the first colour and `high` in the last; NaN stays transparent.
 * `pixels` is a Uint32Array over an ImageData's bytes.
 */
export function colourCells(
  pixels: Uint32Array,
  values: ArrayLike<number>,
  count: number,
  { low, high, colours }: { low: number; high: number; colours: string[] },
) {
  const table = pixelTable(colours);
  const factor = (LEVELS - 1) / (high - low || 1);
  for (let i = 0; i < count; i += 1) {
    const level = (values[i] - low) * factor + 0.5;
    // A comparison with NaN is false, so a hidden cell falls through both.
    pixels[i] = level < 0 ? table[0] : level < LEVELS ? table[level | 0] : Number.isNaN(level) ? 0 : table[LEVELS - 1];
  }
}

/** Black or white, whichever is read better on a colour given as channels. */
export function inkOn([red, green, blue]: number[]) {
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > ON_CELL.from ? ON_CELL.dark : ON_CELL.light;
}

/**
 * As many colours as wanted, none twice and neighbours far apart: for heads that are shown together.
 * Hues go round by the golden angle; lightness alternates, so that near hues still differ without colour vision.
 */
export function headColours(count: number, theme: Theme) {
  const lightness = theme === "dark" ? [72, 58, 82] : [42, 55, 32];
  return Array.from({ length: count }, (_, i) => `hsl(${(265 + i * 137.508) % 360}deg 70% ${lightness[i % 3]}%)`);
}

/** What a covered cell is filled with. */
export const COVER: Record<Theme, string> = { light: "#E4E1EE", dark: "#3B3650" };
