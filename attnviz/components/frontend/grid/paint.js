// Draws the grid of thumbnails: positions, pixels, and the labels of layers and heads.

import { channels, HATCH, INK, pixelTable, SCALES } from "../core/colours.js";
import { headAt } from "../heads/choice.js";
import { blocks } from "./pool.js";
import { typeFor } from "../core/type.js";

// What holds text grows with its type (see core/type.js).
/** A canvas, or what stands for one where the painter's pen records. */
/** @typedef {{ width?: number, height?: number, style: object, getContext(kind: "2d"): Canvas2D | null }} GridCanvas */
/** @typedef {ReturnType<typeof layOut>} GridLayout where the thumbnails stand, in px */
/**
 * @typedef {object} GridLooks what is painted of the thumbnails
 * @property {GridLayout} layout
 * @property {number[]} layers their numbers in the model
 * @property {number} heads of a layer
 * @property {Int32Array | null} order all heads' numbers in ranked order
 * @property {Uint8Array | null} faded a byte a head: 1 where it stands back
 * @property {Overview | null} overview
 * @property {Theme} theme
 * @property {number} density
 * @property {string} font
 */

const GUTTER = 36; // px left of the thumbnails: "layer" and its numbers
const TOP = 32; // px above them: "head" and its numbers
const NAME = 34; // px of height of "layer", which stands upright
const CAPTION = 13; // px above each thumbnail in ranked order: its name
const GAP = 4; // px between thumbnails
const SIDES = { least: 12, fair: 18, most: 48 };
const TYPE = { label: 11, fine: 10 }; // px: layers and heads; names in ranked order
const STRIPE = 4; // px from one line of the hatching to the next

/**
 * Where everything stands: a grid as wide as there is room, and no higher than `most` where that leaves it readable.
 * In ranked order rows are no layers, so there are as many columns as make the thumbnails largest.
 * @param {object} given
 * @param {number} given.layers @param {number} given.heads @param {number} given.width @param {number} given.most
 * @param {boolean} given.ranked @param {number} [given.least]
 * @param {number} [given.mostSide] px of a thumbnail's side at most
 */
export function layOut({ layers, heads, width, most, ranked, least = 0, mostSide = SIDES.most }) {
  const type = typeFor(least, TYPE);
  const [left, top, caption] = (ranked ? [0, 0, CAPTION] : [GUTTER, TOP, 0]).map((length) =>
    Math.round(length * type.unit),
  );
  const count = layers * heads;
  /** @param {number} columns */
  const sideOf = (columns) => {
    const across = Math.floor((width - left + GAP) / columns) - GAP;
    const down = Math.floor((most - top + GAP) / Math.ceil(count / columns)) - GAP - caption;
    return Math.max(SIDES.least, Math.min(across, ranked ? down : Math.max(down, SIDES.fair), mostSide * type.unit));
  };
  let columns = heads;
  if (ranked) for (let other = 1; other <= count; other += 1) if (sideOf(other) > sideOf(columns)) columns = other;
  const side = sideOf(columns);
  const pitch = { x: side + GAP, y: side + GAP + caption };
  const rows = Math.ceil(count / columns);
  const high = rows * pitch.y - GAP;
  return {
    type,
    count,
    columns,
    rows,
    left,
    top,
    caption,
    side,
    pitch,
    width: left + columns * pitch.x - GAP,
    height: top + (ranked ? high : Math.max(high, (high + NAME * type.unit) / 2)),
  };
}

/**
 * The box of the thumbnail at a place, counted row by row.
 * @param {GridLayout} layout @param {number} place
 */
export function boxAt({ columns, left, top, caption, side, pitch }, place) {
  return { x: left + (place % columns) * pitch.x, y: top + caption + Math.floor(place / columns) * pitch.y, side };
}

/**
 * The place under a point, or null. Half the gap around a thumbnail belongs to it: there is no dead space between two.
 * @param {GridLayout} layout @param {number} x @param {number} y
 */
export function placeAt({ count, columns, left, top, pitch }, x, y) {
  const [column, row] = [Math.floor((x - left + GAP / 2) / pitch.x), Math.floor((y - top + GAP / 2) / pitch.y)];
  const place = row * columns + column;
  return column >= 0 && row >= 0 && column < columns && place < count ? place : null;
}

/**
 * Paints all thumbnails.
 * @param {GridCanvas} canvas @param {GridLooks} looks
 */
export function paintGrid(canvas, { layout, layers, heads, order, faded, overview, theme, density, font }) {
  const [wide, high] = [layout.width, layout.height].map((length) => Math.round(length * density));
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  Object.assign(canvas.style, { width: `${layout.width}px`, height: `${layout.height}px` });
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, layout.width, layout.height);
  const thumb = overview && thumbPainter(overview, Math.round(layout.side * density), theme, density);
  for (let place = 0; place < layout.count; place += 1) {
    const n = order ? order[place] : place;
    const { x, y, side } = boxAt(layout, place);
    if (thumb) context.putImageData(thumb(n, Boolean(faded?.[n])), Math.round(x * density), Math.round(y * density));
    paintFrame(context, { x, y, side }, { theme, faded: faded && Boolean(faded[n]) });
    if (order) {
      paintCaption(context, headAt({ layers, heads }, n).join("·"), x + side / 2, y - 3, {
        theme,
        font,
        room: layout.pitch.x,
        ...layout.type,
      });
    }
  }
  context.globalAlpha = 1;
  if (!order) paintLabels(context, layout, { layers, theme, font });
}

/**
 * `faded` is null where none is: else those that do not stand back are marked.
 * @param {Canvas2D} context @param {{ x: number, y: number, side: number }} box
 * @param {{ theme: Theme, faded: boolean | null }} looks
 */
function paintFrame(context, { x, y, side }, { theme, faded }) {
  const isMarked = faded === false;
  context.strokeStyle = isMarked ? INK[theme].attention : INK[theme].rule;
  context.lineWidth = isMarked ? 1.5 : 0.5;
  context.globalAlpha = faded ? 0.35 : isMarked ? 1 : 0.8;
  context.strokeRect(x, y, side, side);
}

/**
 * @param {Canvas2D} context @param {string} text @param {number} x @param {number} y
 * @param {TypeSizes & { theme: Theme, font: string, room: number }} looks
 */
function paintCaption(context, text, x, y, { theme, font, room, fine, least }) {
  context.font = `${fine}px ${font}`;
  if (least && context.measureText(text).width > room) return;
  context.fillStyle = INK[theme].text;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.fillText(text, x, y);
}

/**
 * @param {Canvas2D} context @param {GridLayout} layout
 * @param {{ layers: number[], theme: Theme, font: string }} looks
 */
function paintLabels(context, { type, rows, columns, left, top, side, pitch, width }, { layers, theme, font }) {
  const { label, unit } = type;
  context.font = `${label}px ${font}`;
  context.fillStyle = INK[theme].text;
  context.textBaseline = "middle";
  context.textAlign = "right";
  /** @param {number} room @param {number} needed */
  const every = (room, needed) => Math.ceil(needed / room); // labels that would touch are left out
  for (let l = 0; l < rows; l += every(pitch.y, label * 0.95)) {
    context.fillText(String(layers[l]), left - 7 * unit, top + l * pitch.y + side / 2);
  }
  context.textAlign = "center";
  const widest = context.measureText(String(columns - 1)).width + 2;
  for (let h = 0; h < columns; h += every(pitch.x, widest)) {
    context.fillText(String(h), left + h * pitch.x + side / 2, top - 10 * unit);
  }
  context.font = `600 ${label}px ${font}`;
  context.fillText("head", left + (width - left) / 2, 7 * unit);
  const middle = top + (rows * pitch.y - GAP) / 2;
  context.translate(7 * unit, middle);
  context.rotate(-Math.PI / 2);
  context.fillText("layer", 0, 0);
  context.rotate(Math.PI / 2);
  context.translate(-7 * unit, -middle);
}

/**
 * Gives a function of a head's number that paints it as `size` × `size` pixels, again and again on one image. Colours
 * go by the square root of a weight: in a long text most weights are small, and a picture to choose by must not be
 * empty.
 * @param {Overview} overview @param {number} size @param {Theme} theme @param {number} density
 */
function thumbPainter({ data, height, width, hidden }, size, theme, density) {
  const image = new ImageData(size, size);
  const pixels = new Uint32Array(image.data.buffer);
  const [down, across] = [height, width].map((cells) => spans(cells, size));
  const shades = pixelTable(SCALES[theme].weights);
  const table = Uint32Array.from(
    { length: 256 },
    (_, byte) => shades[Math.round(Math.sqrt(byte / 255) * (shades.length - 1))],
  );
  const pale = Uint32Array.from(table, (pixel) => mixed(pixel, table[0]));
  const [ground, line] = HATCH[theme].map(pixel);
  const stripe = STRIPE * density;
  return (/** @type {number} */ n, /** @type {boolean} */ faded) => {
    const colours = faded ? pale : table;
    const first = n * height * width;
    for (let y = 0; y < size; y += 1) {
      for (let x = 0; x < size; x += 1) {
        const most = largest({ data, first, width, hidden }, down[y], across[x]);
        pixels[y * size + x] = most < 0 ? ((x + y) % stripe < density ? line : ground) : colours[most];
      }
    }
    return image;
  };
}

/**
 * For each pixel the cells [from, to) that it stands for: several where there are more cells than pixels, else one.
 * @param {number} cells @param {number} size @returns {Span[]}
 */
function spans(cells, size) {
  if (cells > size) {
    const ends = blocks(cells, size);
    return Array.from({ length: size }, (_, at) => [ends[at], ends[at + 1]]);
  }
  return Array.from({ length: size }, (_, at) => [
    Math.floor((at * cells) / size),
    Math.floor((at * cells) / size) + 1,
  ]);
}

/**
 * The largest byte of some cells; −1 where all of them are hidden.
 * @param {{ data: Numbers, first: number, width: number, hidden: Uint8Array | null }} thumb @param {Span} rows
 * @param {Span} columns
 */
function largest({ data, first, width, hidden }, [top, bottom], [left, right]) {
  let most = -1;
  for (let i = top; i < bottom; i += 1) {
    for (let at = i * width + left; at < i * width + right; at += 1) {
      if (!hidden?.[at] && data[first + at] > most) most = data[first + at];
    }
  }
  return most;
}

/** @param {string} colour */
const pixel = (colour) => {
  const [red, green, blue] = channels(colour);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
};

/**
 * Four fifths of the way from one pixel to another.
 * @param {number} from @param {number} to
 */
function mixed(from, to) {
  let made = 0;
  for (let shift = 0; shift < 32; shift += 8) {
    const [a, b] = [(from >>> shift) & 255, (to >>> shift) & 255];
    made |= Math.round(a + (b - a) * 0.8) << shift;
  }
  return made >>> 0;
}
