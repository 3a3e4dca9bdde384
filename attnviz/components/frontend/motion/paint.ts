// Paints one moment of a step over the matrices of a board.

import { complete } from "../board/panel.ts";
import { windowOf, paintTitle } from "../board/paint.ts";
import { paintValue } from "../board/numbers.ts";
import { blend, INK, SCALES } from "../core/colours.ts";
import { whole } from "./order.ts";
import { at, eased, shown, within } from "./words.ts";
import { paintStrip, stripOf } from "./strip.ts";
import { paintWork } from "./work.ts";
import type { Strip } from "./strip.ts";

const VEIL = 0.66; // how much of what stands back is hidden
const DIGIT = 0.55; // of the type size
const LEAST = 7; // px of type
const EASY = 9; // px of type: what is smaller is written with fewer digits
const MOST_NUMBERED = 512; // cells that fly together and carry their numbers
const MOST_TURNED = 4096; // cells that turn one by one; of a larger matrix only the result is seen
const LATER = 2.5; // how much later the last row of a matrix turns than the first, in the time that a row takes
const APART = 4; // px: cells that are less high are not set apart
const REACH = 8; // px: about half of a number
const HALO = 2; // px of the canvas's colour around an outline

export type ImageOf = (place: Place) => HTMLCanvasElement;
export type Painting = { pen: BoardPen; byName: Map<string, Place>; imageOf: ImageOf; strip: Strip | null };

/** One moment of a step, as a board paints it. */
export function motionAt(frame: Frame, picture: BoardPicture): BoardMotion {
  return {
    places: (places) => placesAt(frame, places),
    paint: (pen, places, imageOf) => paintFrame(pen, frame, { places, picture, imageOf }),
  };
}

/** The matrices as they stand at this moment. */
function placesAt({ blank, stands, turn: turning }: Frame, places: Place[]): Place[] {
  return places.map((place) => {
    const { name, shape } = place.panel;
    if (turning?.over === name && turning.along < 1) return { ...place, alpha: 0 };
    const panel = standing(place.panel, stands[name]);
    if (turning?.panel === name && turning.along < 1) return { ...place, panel, blank: [whole(shape)] };
    return { ...place, panel, blank: blank[name] ?? [] };
  });
}

/** A matrix that shows something else: its range is that of its own numbers, or is not told. */
function standing(panel: CompletePanel, stand: Stand | undefined): CompletePanel {
  if (!stand) return panel;
  const { title, data } = stand;
  return data ? complete({ ...panel, title, data }) : { ...panel, title, seen: null };
}

/** Paints what lies over the matrices; says whether the arithmetic stands in their empty corner. */
export function paintFrame(
  pen: BoardPen,
  frame: Frame,
  { places, picture, imageOf }: { places: Place[]; picture: BoardPicture; imageOf: ImageOf },
) {
  const seen = placesAt(frame, places);
  const byName = new Map(seen.map((place) => [place.panel.name, place]));
  const strip = frame.upright && stripOf(pen, frame.upright, { places, picture });
  const painting: Painting = { pen, byName, imageOf, strip };
  pen.context.save();
  for (const name of frame.veiled) veil(painting, name, frame.lit);
  for (const written of frame.written) write(painting, written);
  for (const lit of frame.lit.filter(({ strong }) => !strong)) outline(painting, lit);
  if (frame.turn) turn(painting, frame.turn);
  for (const flight of frame.flights) fly(painting, flight);
  if (frame.upright && strip) paintStrip(pen, frame.upright, strip);
  for (const lit of frame.lit.filter(({ strong }) => strong)) outline(painting, lit);
  pen.context.restore();
  const isWritten = frame.work !== null && paintWork(pen, frame.work, { places, picture, strip });
  return isWritten || strip !== null;
}

/** A part of a matrix in px. */
function boxOf(pen: BoardPen, place: Place, { row, column, rows, columns }: CellBox): Box {
  const [from, to] = windowOf(pen, place);
  const [width, height] = [place.width / (to.column - from.column), place.height / (to.row - from.row)];
  return {
    x: place.x + (column - from.column) * width,
    y: place.y + (row - from.row) * height,
    width: columns * width,
    height: rows * height,
  };
}

/** Cells in px, null where they are not in view: those of a matrix, or those that stand upright beside it. */
function seenBox({ pen, byName, strip }: Painting, { panel, box, inCorner }: CellsAt): Box | null {
  const place = byName.get(panel);
  if (!place || place.alpha === 0) return null;
  const own = boxOf(pen, place, box);
  if (inCorner) return strip && { ...own, x: strip.x, width: strip.width };
  const isIn = own.x > place.x - 1 && own.y > place.y - 1;
  const ends = own.x + own.width < place.x + place.width + 1 && own.y + own.height < place.y + place.height + 1;
  return isIn && ends ? own : null;
}

/** Draws inside of a matrix. */
function inside({ pen: { context } }: Painting, { x, y, width, height }: Place, work: () => void) {
  context.save();
  context.beginPath();
  context.rect(x - 1, y - 1, width + 2, height + 2);
  context.clip();
  work();
  context.restore();
}

/** Lets a matrix stand back, but for the first of its parts that are lit. */
function veil(painting: Painting, name: string, lit: LitCells[]) {
  const { pen, byName } = painting;
  const place = byName.get(name);
  const own = lit.find(({ panel }) => panel === name);
  if (!place || !own) return;
  const { x, y, width, height } = boxOf(pen, place, own.box);
  const { context, theme } = pen;
  inside(painting, place, () => {
    Object.assign(context, { fillStyle: INK[theme].canvas, globalAlpha: VEIL });
    const [right, below] = [place.x + place.width, place.y + place.height];
    context.fillRect(place.x, place.y, place.width, Math.max(0, y - place.y));
    context.fillRect(place.x, y + height, place.width, Math.max(0, below - y - height));
    context.fillRect(place.x, y, Math.max(0, x - place.x), height);
    context.fillRect(x + width, y, Math.max(0, right - x - width), height);
  });
}

function outline(painting: Painting, { panel, box, ink, strong, inCorner = false }: LitCells) {
  const { pen, byName } = painting;
  const place = byName.get(panel);
  const seen = place && (inCorner ? seenBox(painting, { panel, box, inCorner }) : boxOf(pen, place, box));
  if (!place || !seen) return;
  const { context, theme } = pen;
  const { x, y, width, height } = seen;
  const draw = () => {
    if (strong) {
      Object.assign(context, { strokeStyle: INK[theme].canvas, lineWidth: 2 + HALO });
      context.strokeRect(x, y, width, height);
    } else {
      Object.assign(context, { fillStyle: INK[theme][ink], globalAlpha: 0.08 });
      context.fillRect(x, y, width, height);
      context.globalAlpha = 1;
    }
    Object.assign(context, { strokeStyle: INK[theme][ink], lineWidth: strong ? 2 : 1.5 });
    context.strokeRect(x, y, width, height);
  };
  // A strong outline lies half outside of its cell, also at the edge; out of view there is none.
  if (strong && (inCorner || seenBox(painting, { panel, box }))) draw();
  else if (!inCorner) inside(painting, place, draw);
}

function write(painting: Painting, { panel: name, row, column, value, plain }: WrittenCell) {
  const { pen, byName } = painting;
  const place = byName.get(name);
  if (!place) return;
  const { theme } = pen;
  const box = boxOf(pen, place, { row, column, rows: 1, columns: 1 });
  inside(painting, place, () => {
    if (plain) paintPlain(pen, value, box);
    else paintCell(pen, place.panel, value, box);
    Object.assign(pen.context, { strokeStyle: INK[theme].canvas, lineWidth: 1 });
    pen.context.strokeRect(box.x, box.y, box.width, box.height);
  });
}

/** A cell with a value of its own. */
function paintCell(pen: BoardPen, panel: CompletePanel, value: number, { x, y, width, height }: Box) {
  const { context, theme } = pen;
  const { low, high, scale } = panel;
  context.fillStyle = css(blend(SCALES[theme][scale], (value - low) / (high - low || 1)));
  context.fillRect(x, y, width, height);
  paintValue(pen, panel, value, { x, y, width, height });
}

/** A number that the matrix's colours do not apply to. */
function paintPlain({ context, theme, font, type }: BoardPen, value: number, { x, y, width, height }: Box) {
  context.fillStyle = INK[theme].canvas;
  context.fillRect(x, y, width, height);
  const sized = [short(value), shorter(value)].map((text) => ({
    text,
    size: Math.min(14 * type.unit, height * 0.72, (width * 0.94) / (text.length * DIGIT)),
  }));
  const { text, size } = sized.find((one) => one.size >= Math.max(EASY, type.least)) ?? sized[1];
  if (size < Math.max(LEAST, type.least)) return;
  Object.assign(context, { font: `${size}px ${font}`, fillStyle: INK[theme].attention });
  Object.assign(context, { textAlign: "center", textBaseline: "middle" });
  context.fillText(text, x + width / 2, y + height / 2 + 0.5);
}

/** Three digits of a positive number. */
function short(x: number) {
  if (x >= 1e5) return x.toExponential(0).replace("+", "");
  return x >= 99.5 || (Number.isInteger(x) && x > 9) ? x.toFixed(0) : x >= 9.95 ? x.toFixed(1) : shown(x);
}

/** At most two digits of a number that is not huge. */
const shorter = (x: number) =>
  x >= 9.95 ? short(Math.round(x)) : x >= 0.995 ? x.toFixed(1) : x.toFixed(2).replace(/^0/, "");

function fly(painting: Painting, { from, to, along, value, coloured }: Flight) {
  const { pen, byName, imageOf } = painting;
  const [end, owner] = [to.panel, coloured].map((name) => byName.get(name));
  const [first, last] = [from, to].map((cells) => seenBox(painting, cells));
  if (!end || !owner || !first || !last) return;
  const box = between(first, last, along);
  const { context, theme } = pen;
  if (value === undefined && to.box.rows * to.box.columns <= MOST_NUMBERED) {
    paintBlock(painting, end.panel, to.box, box);
  } else if (value === undefined) {
    const image = imageOf(end);
    const [down, across] = [image.height / end.panel.shape[0], image.width / end.panel.shape[1]];
    const { row, column, rows, columns } = to.box;
    context.imageSmoothingEnabled = false;
    context.drawImage(
      ...[image, column * across, row * down, columns * across, rows * down],
      ...[box.x, box.y, box.width, box.height],
    );
  } else if (Number.isNaN(value)) return;
  else paintMoving(painting, owner.panel, value, box);
  if (value !== undefined && box.height < APART) return;
  Object.assign(context, { strokeStyle: value === undefined ? INK[theme].attention : INK[theme].canvas, lineWidth: 1 });
  context.strokeRect(box.x, box.y, box.width, box.height);
}

/** A cell on its way; its number only where it is true. @param panel whose colours it has */
function paintMoving({ pen, byName }: Painting, panel: CompletePanel, value: number, box: Box) {
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const isTrue = [...byName.values()].every((place) => {
    if (place.alpha === 0) return true;
    const [from, to] = windowOf(pen, place);
    const across = cellAlong(x - place.x, place.width, [from.column, to.column]);
    const down = cellAlong(y - place.y, place.height, [from.row, to.row]);
    return across === null || down === null || at(place.panel, down, across) === value;
  });
  paintCell(pen, isTrue ? panel : { ...panel, numbered: false }, value, box);
}

/**
 * The row or column of a matrix that a number stands on, also where it only reaches into the first or last one; null
 * beside the matrix.
 * @param px from the matrix's edge
 * @param length px of the matrix
 * @param span rows in view
 */
function cellAlong(px: number, length: number, [from, to]: Span) {
  if (px < -REACH || px > length + REACH) return null;
  const position = from + (px / length) * (to - from);
  return Math.min(Math.max(Math.floor(position), Math.floor(from)), Math.ceil(to) - 1);
}

/** Some cells of a matrix in another place. */
function paintBlock(painting: Painting, panel: CompletePanel, cells: CellBox, { x, y, width, height }: Box) {
  const { pen } = painting;
  const size = { width: width / cells.columns, height: height / cells.rows };
  pen.context.strokeStyle = INK[pen.theme].canvas;
  for (let i = 0; i < cells.rows; i += 1) {
    for (let j = 0; j < cells.columns; j += 1) {
      const box = { x: x + j * size.width, y: y + i * size.height, ...size };
      paintMoving(painting, panel, at(panel, cells.row + i, cells.column + j), box);
      pen.context.strokeRect(box.x, box.y, box.width, box.height);
    }
  }
}

function between(from: Box, to: Box, along: number): Box {
  const on = (side: keyof Box) => from[side] + (to[side] - from[side]) * along;
  return { x: on("x"), y: on("y"), width: on("width"), height: on("height") };
}

/**
 * A matrix as it was before it is transposed, in the place of the empty result: row after row becomes a column.
 */
function turn(painting: Painting, { panel: name, over, title, along }: NonNullable<Frame["turn"]>) {
  const { pen, byName } = painting;
  const [place, start] = [byName.get(name), byName.get(over)];
  if (!place || !start || along >= 1) return;
  const { panel } = place;
  const [columns, rows] = panel.shape; // of the matrix before
  const { width } = boxOf(pen, place, { row: 0, column: 0, rows: 1, columns: 1 });
  const size = { width: Math.min(width, start.width / columns), height: start.height / rows };
  const { context, theme } = pen;
  context.globalAlpha = 1 - along;
  paintTitle(pen, { ...start, panel: { ...panel, title, shape: [rows, columns] } });
  context.globalAlpha = 1;
  if (rows * columns > MOST_TURNED) return;
  for (let i = rows - 1; i >= 0; i -= 1) {
    const share = eased(within(along * (1 + LATER), [(LATER * i) / rows, (LATER * i) / rows + 1]));
    for (let j = 0; j < columns; j += 1) {
      const from = { x: start.x + j * size.width, y: start.y + i * size.height, ...size };
      const to = boxOf(pen, place, { row: j, column: i, rows: 1, columns: 1 });
      const box = between(from, to, share);
      paintMoving(painting, panel, panel.data[j * rows + i], box);
      Object.assign(context, { strokeStyle: INK[theme].canvas, lineWidth: 1 });
      context.strokeRect(box.x, box.y, box.width, box.height);
    }
  }
}

const css = ([red, green, blue]: number[]) => `rgb(${red}, ${green}, ${blue})`;
