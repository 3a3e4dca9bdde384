// Draws the grid of thumbnails: positions, pixels, and the labels of layers and heads.

import { briefName } from "../board/labels.ts";
import { axisName } from "../board/panel.ts";
import { channels, HATCH, INK, pixelTable, SCALES, TEXT_INK } from "../core/colours.ts";
import { isOnLine } from "../core/mask_reasons.ts";
import { headAt } from "../heads/choice.ts";
import { blocks } from "./pool.ts";
import { typeFor } from "../core/type.ts";

// What holds text grows with its type (see core/type.ts).
/** A canvas, or what stands for one where the painter's pen records. */
export type GridCanvas = { width?: number; height?: number; style: object; getContext(kind: "2d"): Canvas2D | null };
/** where the thumbnails stand, in px */
export type GridLayout = ReturnType<typeof layOut>;
/** the thumbnails of all heads */
export interface Thumbnails {
  /** their numbers in the model */
  layers: number[];
  /** of a layer */
  heads: number;
  /** all heads' numbers in ranked order */
  order: Int32Array | null;
  /** a byte a head: 1 where it stands back */
  faded: Uint8Array | null;
  overview: Overview | null;
  /** how many heads after one another share a head of keys and values, the same in all layers */
  sharedBy?: number;
  /** a layer's: whether it has a window */
  local?: boolean[];
  theme: Theme;
}
/** what is painted of them */
export interface GridLooks extends Thumbnails {
  layout: GridLayout;
  density: number;
  font: string;
}

const GUTTER = 36; // px left of the thumbnails: "layer" and its numbers
const TOP = 32; // px above them: "head" and its numbers
const NAME = 34; // px of height of "layer", which stands upright
const CAPTION = 13; // px above each thumbnail in ranked order: its name
const BELOW = 17; // px under them: what the rows and columns of each are
const NAMED = 68; // px that this takes in short words
const GAP = 4; // px between thumbnails
const SIDES = { least: 12, fair: 18, most: 48 };
const TYPE = { label: 11, fine: 10 }; // px: layers and heads; names in ranked order
const STRIPE = 4; // px from one line of the hatching to the next

/**
 * Where everything stands: a grid as wide as there is room, and no higher than `most` where that leaves it readable.
 * In ranked order rows are no layers, so there are as many columns as make the thumbnails largest.
 * @param given.mostSide px of a thumbnail's side at most
 */
export function layOut({
  layers,
  heads,
  width,
  most = Infinity,
  ranked,
  least = 0,
  mostSide = SIDES.most,
}: {
  layers: number;
  heads: number;
  width: number;
  most?: number;
  ranked: boolean;
  least?: number;
  mostSide?: number;
}) {
  const type = typeFor(least, TYPE);
  const [left, top, caption] = (ranked ? [0, 0, CAPTION] : [GUTTER, TOP, 0]).map((length) =>
    Math.round(length * type.unit),
  );
  const below = Math.round(BELOW * type.unit);
  const count = layers * heads;
  const sideOf = (columns: number) => {
    const across = Math.floor((width - left + GAP) / columns) - GAP;
    const down = Math.floor((most - top - below + GAP) / Math.ceil(count / columns)) - GAP - caption;
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
    width: left + Math.max(columns * pitch.x - GAP, Math.min(NAMED * type.unit, width - left)),
    height: top + (ranked ? high : Math.max(high, (high + NAME * type.unit) / 2)) + below,
  };
}

/** The box of the thumbnail at a place, counted row by row. */
export function boxAt({ columns, left, top, caption, side, pitch }: GridLayout, place: number) {
  return { x: left + (place % columns) * pitch.x, y: top + caption + Math.floor(place / columns) * pitch.y, side };
}

/**
 * The place under a point, or null. Half the gap around a thumbnail belongs to it: there is no dead space between two.
 */
export function placeAt({ count, columns, left, top, pitch }: GridLayout, x: number, y: number) {
  const [column, row] = [Math.floor((x - left + GAP / 2) / pitch.x), Math.floor((y - top + GAP / 2) / pitch.y)];
  const place = row * columns + column;
  return column >= 0 && row >= 0 && column < columns && place < count ? place : null;
}

/** Paints all thumbnails. */
export function paintGrid(
  canvas: GridCanvas,
  { layout, layers, heads, order, faded, overview, sharedBy = 1, local, theme, density, font }: GridLooks,
) {
  const [wide, high] = [layout.width, layout.height].map((length) => Math.round(length * density));
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  Object.assign(canvas.style, { width: `${layout.width}px`, height: `${layout.height}px` });
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, layout.width, layout.height);
  const thumb = overview && thumbPainter(overview, Math.round(layout.side * density), { heads, theme, density });
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
  if (!order && sharedBy > 1) paintBrackets(context, layout, { sharedBy, theme });
  if (!order && local) paintLocal(context, layout, { local, theme });
  paintAxes(context, layout, { theme, font });
}

/** `faded` is null where none is: else those that do not stand back are marked. */
function paintFrame(
  context: Canvas2D,
  { x, y, side }: { x: number; y: number; side: number },
  { theme, faded }: { theme: Theme; faded: boolean | null },
) {
  const isMarked = faded === false;
  context.strokeStyle = isMarked ? INK[theme].attention : INK[theme].rule;
  context.lineWidth = isMarked ? 1.5 : 0.5;
  context.globalAlpha = faded ? 0.35 : isMarked ? 1 : 0.8;
  context.strokeRect(x, y, side, side);
}

function paintCaption(
  context: Canvas2D,
  text: string,
  x: number,
  y: number,
  { theme, font, room, fine, least }: TypeSizes & { theme: Theme; font: string; room: number },
) {
  context.font = `${fine}px ${font}`;
  if (least && context.measureText(text).width > room) return;
  context.fillStyle = INK[theme].text;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.fillText(text, x, y);
}

function paintLabels(
  context: Canvas2D,
  { type, rows, columns, left, top, side, pitch, width }: GridLayout,
  { layers, theme, font }: { layers: number[]; theme: Theme; font: string },
) {
  const { label, unit } = type;
  context.font = `${label}px ${font}`;
  context.fillStyle = INK[theme].text;
  context.textBaseline = "middle";
  context.textAlign = "right";
  const every = (room: number, needed: number) => Math.ceil(needed / room); // labels that would touch are left out
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

/** A bracket above the heads of each group that shares keys and values. */
function paintBrackets(
  context: Canvas2D,
  { type, columns, left, top, side, pitch }: GridLayout,
  { sharedBy, theme }: { sharedBy: number; theme: Theme },
) {
  const [bar, foot] = [top - 4 * type.unit, 2 * type.unit];
  context.fillStyle = INK[theme].key;
  for (let first = 0; first < columns; first += sharedBy) {
    const [from, to] = [left + first * pitch.x, left + (first + sharedBy - 1) * pitch.x + side];
    context.fillRect(from, bar, to - from, 1);
    for (const end of [from, to - 1]) context.fillRect(end, bar, 1, foot);
  }
}

/** A bar beside the thumbnails of each layer with a window. */
function paintLocal(
  context: Canvas2D,
  { type, left, top, side, pitch }: GridLayout,
  { local, theme }: { local: boolean[]; theme: Theme },
) {
  context.fillStyle = INK[theme].text;
  for (const [row, hasWindow] of local.entries()) {
    if (hasWindow) context.fillRect(left - 5 * type.unit, top + row * pitch.y, 2 * type.unit, side);
  }
}

/** Writes what the rows and columns of each thumbnail are. */
function paintAxes(
  context: Canvas2D,
  { type, left, width, height }: GridLayout,
  { theme, font }: { theme: Theme; font: string },
) {
  context.font = `${type.label}px ${font}`;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  const widthOf: WidthOf = (text) => context.measureText(text).width;
  const names = ["query", "key"].map((kind) => axisName(kind) ?? "");
  const [wide, narrow] = [names, names.map(briefName)].map(([of, to]) => [`↓ ${of}`, `→ ${to}`]);
  const [apart, foot] = [10 * type.unit, height - 4 * type.unit];
  const [rows, columns] = widthOf(wide.join("")) + apart <= width - left ? wide : narrow;
  context.fillStyle = TEXT_INK[theme].query;
  context.fillText(rows, left, foot);
  context.fillStyle = TEXT_INK[theme].key;
  context.fillText(columns, left + widthOf(rows) + apart, foot);
}

/**
 * Gives a function of a head's number that paints it as `size` × `size` pixels, again and again on one image. Colours
 * go by the square root of a weight: in a long text most weights are small, and a picture to choose by must not be
 * empty.
 */
function thumbPainter(
  { data, height, width, hidden: ofAll, hiddenIn }: Overview,
  size: number,
  { heads, theme, density }: { heads: number; theme: Theme; density: number },
) {
  const image = new ImageData(size, size);
  const pixels = new Uint32Array(image.data.buffer);
  const [down, across] = [height, width].map((cells) => spans(cells, size));
  const shades = pixelTable(SCALES[theme].weights);
  const table = Uint32Array.from(
    { length: 256 },
    (_, byte) => shades[Math.round(Math.sqrt(byte / 255) * (shades.length - 1))],
  );
  const pale = Uint32Array.from(table, (pixel) => mixed(pixel, table[0]));
  const hatches = Object.entries(HATCH[theme]).map(([reason, colours]) => ({ reason, colours: colours.map(pixel) }));
  const line = [STRIPE * density, density];
  return (n: number, faded: boolean) => {
    const colours = faded ? pale : table;
    const first = n * height * width;
    const hidden = hiddenIn ? hiddenIn[Math.floor(n / heads)] : ofAll;
    for (let y = 0; y < size; y += 1) {
      for (let x = 0; x < size; x += 1) {
        const most = largest({ data, first, width, hidden }, down[y], across[x]);
        const hatch = hatches[-1 - most];
        pixels[y * size + x] = hatch ? hatch.colours[isOnLine(hatch.reason, x, y, line) ? 1 : 0] : colours[most];
      }
    }
    return image;
  };
}

/**
 * For each pixel the cells [from, to) that it stands for: several where there are more cells than pixels, else one.
 */
function spans(cells: number, size: number): Span[] {
  if (cells > size) {
    const ends = blocks(cells, size);
    return Array.from({ length: size }, (_, at) => [ends[at], ends[at + 1]]);
  }
  return Array.from({ length: size }, (_, at) => [
    Math.floor((at * cells) / size),
    Math.floor((at * cells) / size) + 1,
  ]);
}

/** The largest byte of some cells; where all of them are hidden, minus the last one's number in poolHidden. */
function largest(
  { data, first, width, hidden }: { data: Numbers; first: number; width: number; hidden: Uint8Array | null },
  [top, bottom]: Span,
  [left, right]: Span,
) {
  let most = -1;
  for (let i = top; i < bottom; i += 1) {
    for (let at = i * width + left; at < i * width + right; at += 1) {
      if (!hidden?.[at]) most = Math.max(most, data[first + at]);
      else if (most < 0) most = -hidden[at];
    }
  }
  return most;
}

const pixel = (colour: string) => {
  const [red, green, blue] = channels(colour);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
};

/** Four fifths of the way from one pixel to another. */
function mixed(from: number, to: number) {
  let made = 0;
  for (let shift = 0; shift < 32; shift += 8) {
    const [a, b] = [(from >>> shift) & 255, (to >>> shift) & 255];
    made |= Math.round(a + (b - a) * 0.8) << shift;
  }
  return made >>> 0;
}
