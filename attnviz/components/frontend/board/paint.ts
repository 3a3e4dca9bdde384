// Draws one placed matrix with its labels, using only the methods that canvas and vector export share.

import { contextOf } from "../core/dom.ts";
import { blend, COVER, HATCH, INK, SCALES, TEXT_INK } from "../core/colours.ts";
import { CELL_NUMBERS } from "../core/constants.ts";
import { fixed } from "../core/format.ts";
import { legend, reasonBoxes } from "../core/mask_reasons.ts";
import { paintColumnLabels, paintRowLabels } from "./labels.ts";
import { fitFormula, fitTitle } from "./layout.ts";
import { paintNumbers } from "./numbers.ts";
import { signsOf } from "./panel.ts";

const GRID = 9; // px: cells from this size on are set apart
const UNDER_BUTTONS = 92; // px from the top of the picture: a colour bar begins below the zoom buttons
const AWAY = 10; // px between a formula and what stands right of it, in units of type
const BLANK = { light: "#F3F3F7", dark: "#1A1A22" };

/**
 * `pen` is {context, theme, font, type, labels, view(kind, count) -> [from, to], written}; `type` is from core/type.ts.
 * Each label that is written is added to `written`: {panel, side: "rows" | "columns", x, y, turn, box}, where the box
 * [left, top, width, height] is around (x, y), turned with it.
 */
export function paintPlace(pen: BoardPen, place: Place, image: HTMLCanvasElement) {
  const { context } = pen;
  context.save();
  context.globalAlpha = place.alpha ?? 1;
  const [from, to] = windowOf(pen, place);
  const cell = { width: place.width / (to.column - from.column), height: place.height / (to.row - from.row) };
  paintCells(pen, place, image, { from, to, cell });
  if (place.panel.parts) paintHeads(pen, place, place.panel.parts, { from, cell });
  context.globalAlpha *= place.words ?? 1;
  paintTitle(pen, place);
  if (place.rowLabels) paintRowLabels(pen, place, { from, to, cell });
  if (place.columnLabels) paintColumnLabels(pen, place, { from, to, cell });
  if (place.panel.bar) paintBar(pen, place);
  context.restore();
}

/** Writes the operation in the empty corner of a product. */
export function paintOperation(pen: BoardPen, picture: BoardPicture<CompletePanel> | null, places: Place[]) {
  const corner = picture && cornerOf(picture, places);
  if (!picture?.between || !corner) return;
  paintFormula(pen, picture.between, {
    x: corner.x,
    room: corner.width,
    middle: corner.y + corner.height / 2,
  });
}

/** The empty corner of a product, left of its right matrix; null where there is none. */
export function cornerOf({ grid }: BoardPicture, places: Place[]): Box | null {
  const below = places.find(({ row, column }) => row === 1 && column === 0);
  const beside = places.find(({ row }) => row === 0);
  if (grid[0]?.[0] !== null || !below || !beside) return null;
  const { x } = below;
  return { x, y: beside.y, width: beside.x - beside.gutter - x, height: beside.height };
}

/** Writes a formula from `x` on around the height `middle`, as large as fits into `room` px. */
function paintFormula(
  { context, theme, font, type }: BoardPen,
  text: string,
  { x, room, middle }: { x: number; room: number; middle: number },
) {
  context.font = `100px ${font}`;
  const widthOf: WidthOf = (line) => context.measureText(line).width / 100;
  const fits = fitFormula(text, room - AWAY * type.unit, widthOf, { size: 15 * type.unit, least: type.fine });
  if (!fits) return;
  const { lines, size } = fits;
  context.font = `${size}px ${font}`;
  context.fillStyle = INK[theme].text;
  context.textAlign = "left";
  context.textBaseline = "middle";
  lines.forEach((line, n) => context.fillText(line, x, middle + (n - (lines.length - 1) / 2) * 1.3 * size));
}

/** The part of the matrix that is in view, in cells: [{row, column}, {row, column}]. */
export function windowOf(pen: BoardPen, { panel }: Place) {
  const [top, bottom] = pen.view(panel.rows, panel.shape[0]);
  const [left, right] = pen.view(panel.cols, panel.shape[1]);
  return [
    { row: top, column: left },
    { row: bottom, column: right },
  ];
}

export function paintTitle({ context, theme, font, type }: BoardPen, { panel, x, y, titleRoom, covers }: Place) {
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillStyle = panel.ink ?? TEXT_INK[theme][panel.role ?? "text"];
  context.font = `600 ${14 * type.unit}px ${font}`;
  const widthOf: WidthOf = (text) => context.measureText(text).width;
  context.fillText(fitTitle(panel.title, titleRoom.title, widthOf), x, y - 21 * type.unit);
  context.font = `${type.fine}px ${font}`;
  const [rows, cols] = panel.shape;
  const size = `${rows} × ${cols}`;
  const range = !covers && panel.seen?.map((value) => fixed(value, 2)).join(" … ");
  const whole = range ? `${size} · ${range}` : size;
  const reasons = panel.gaps ? legend(panel.reasons) : "";
  const lines = [whole, size].map((start) => start + (reasons && ` · ${reasons}`));
  const fitting = [...lines, whole].find((line) => widthOf(line) <= titleRoom.about);
  context.fillText(fitting ?? size, x, y - 6 * type.unit);
}

function paintCells(pen: BoardPen, place: Place, image: HTMLCanvasElement, { from, to, cell }: CellWindow) {
  const { context, theme } = pen;
  const { panel, x, y, width, height } = place;
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  if ((panel.gaps && !panel.is_blank) || place.mix?.from.panel.gaps) {
    paintHatching(pen, place, { from, cell });
  }
  context.imageSmoothingEnabled = false;
  const [rows, cols] = panel.shape;
  const [down, across] = [image.height / rows, image.width / cols];
  context.drawImage(
    image,
    from.column * across,
    from.row * down,
    (to.column - from.column) * across,
    (to.row - from.row) * down,
    x,
    y,
    width,
    height,
  );
  const blank = panel.is_blank ? [{ row: 0, column: 0, rows, columns: cols }] : (place.blank ?? panel.blank);
  if (blank) paintBlank(pen, place, blank, { from, cell });
  if (Math.min(cell.width, cell.height) >= GRID) paintGrid(pen, place, { from, to, cell });
  const { covers } = place;
  if (covers) paintCovers(pen, { ...place, covers }, { from, cell });
  if (place.numbers !== 0 && panel.numbered) paintNumbers(pen, place, { from, to, cell });
  context.restore();
  context.strokeStyle = INK[theme].rule;
  context.lineWidth = 0.5;
  context.globalAlpha *= 0.6;
  context.strokeRect(x, y, width, height);
  context.globalAlpha = place.alpha ?? 1;
}

/** Cells that are not computed yet, or left out. */
function paintBlank(
  { context, theme }: BoardPen,
  { x, y }: Place,
  blank: CellBox[],
  { from, cell }: { from: CellWindow["from"]; cell: Size },
) {
  context.fillStyle = BLANK[theme];
  for (const { row, column, rows, columns } of blank) {
    const [left, top] = [x + (column - from.column) * cell.width, y + (row - from.row) * cell.height];
    context.fillRect(left, top, columns * cell.width, rows * cell.height);
  }
}

type Reason = Hatch["reason"];
const tiles: Record<string, HatchTile> = {};

/** Hatches all cells, as they show through where they are hidden, each by why it is. */
function paintHatching({ context, theme }: BoardPen, place: Place, { from, cell }: Omit<CellWindow, "to">) {
  const { x, y, width, height } = place;
  const { reasons, shape } = place.panel;
  context.fillStyle = hatching(context, theme, "future");
  context.fillRect(x, y, width, height);
  for (const { reason, row, column, rows, columns } of reasons ? reasonBoxes(reasons, shape) : []) {
    context.fillStyle = hatching(context, theme, reason);
    const [left, top] = [x + (column - from.column) * cell.width, y + (row - from.row) * cell.height];
    context.fillRect(left, top, columns * cell.width, rows * cell.height);
  }
}

/** The tile says what is drawn on it, for those who make hatching of lines. */
function hatching(context: Canvas2D, theme: Theme, reason: Reason) {
  const tile = (tiles[theme + reason] ??= hatchTile(theme, reason));
  return context.createPattern(tile, "repeat") ?? HATCH[theme][reason][0];
}

function hatchTile(theme: Theme, reason: Reason): HatchTile {
  const tile = document.createElement("canvas");
  tile.width = 6;
  tile.height = 6;
  const pen = contextOf(tile);
  const [ground, line] = HATCH[theme][reason];
  const lineWidth = 1.4;
  pen.fillStyle = ground;
  pen.fillRect(0, 0, 6, 6);
  pen.strokeStyle = line;
  pen.lineWidth = lineWidth;
  for (const shift of [-6, 0, 6]) {
    if (reason !== "window") {
      pen.moveTo(shift - 1, 7);
      pen.lineTo(shift + 7, -1);
    }
    if (reason !== "future") {
      pen.moveTo(shift - 1, -1);
      pen.lineTo(shift + 7, 7);
    }
  }
  pen.stroke();
  return Object.assign(tile, { hatch: { ground, line, lineWidth, reason } });
}

function paintGrid({ context, theme }: BoardPen, { x, y, width, height }: Place, { from, to, cell }: CellWindow) {
  context.fillStyle = INK[theme].canvas;
  for (let j = Math.ceil(from.column); j <= to.column; j += 1) {
    context.fillRect(x + (j - from.column) * cell.width - 0.5, y, 1, height);
  }
  for (let i = Math.ceil(from.row); i <= to.row; i += 1) {
    context.fillRect(x, y + (i - from.row) * cell.height - 0.5, width, 1);
  }
}

function paintCovers(
  { context, theme, font, type }: BoardPen,
  { panel, x, y, covers }: Place & { covers: IsCovered },
  { from, cell }: { from: CellWindow["from"]; cell: Size },
) {
  const [rows, cols] = panel.shape;
  const size = Math.min(14 * type.unit, cell.height * (type.least ? 0.9 : 0.7));
  context.font = `600 ${size}px ${font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < cols; j += 1) {
      if (!covers(i, j)) continue;
      const [left, top] = [x + (j - from.column) * cell.width, y + (i - from.row) * cell.height];
      context.fillStyle = COVER[theme];
      context.fillRect(left + 0.5, top + 0.5, cell.width - 1, cell.height - 1);
      context.fillStyle = INK[theme].attention;
      if (size >= type.least) context.fillText("?", left + cell.width / 2, top + cell.height / 2 + 0.5);
    }
  }
}

function paintHeads(
  { context, theme }: BoardPen,
  { panel, x, y, width, height }: Place,
  { width: size, followed }: { width: number; followed: number },
  { from, cell }: { from: CellWindow["from"]; cell: Size },
) {
  context.save();
  context.beginPath();
  context.rect(x - 2, y - 2, width + 4, height + 4);
  context.clip();
  context.fillStyle = INK[theme].rule;
  for (let j = size; j < panel.shape[1]; j += size) {
    context.fillRect(x + (j - from.column) * cell.width - 0.5, y, 1, height);
  }
  context.strokeStyle = INK[theme].attention;
  context.lineWidth = 2;
  context.strokeRect(x + (followed * size - from.column) * cell.width, y, size * cell.width, height);
  context.restore();
}

function paintBar({ context, theme, font, type }: BoardPen, { panel, x, y, width, height }: Place) {
  const left = x + width + 10;
  const foot = y + height;
  const tall = Math.min(height, 180 * type.unit, Math.max(56 * type.unit, foot - UNDER_BUTTONS));
  const top = foot - tall;
  const steps = 64;
  for (let s = 0; s < steps; s += 1) {
    const [red, green, blue] = blend(SCALES[theme][panel.scale], 1 - s / (steps - 1));
    context.fillStyle = `rgb(${red}, ${green}, ${blue})`;
    context.fillRect(left, top + (s * tall) / steps, 9, tall / steps + 0.5);
  }
  context.font = `${type.fine}px ${font}`;
  context.fillStyle = INK[theme].text;
  context.textAlign = "left";
  context.textBaseline = "middle";
  const digits = panel.high >= CELL_NUMBERS.oneDecimalFrom ? 1 : panel.high < CELL_NUMBERS.threeDecimalsBelow ? 3 : 2;
  const { high, low } = panel;
  const [above, below] = signsOf(panel);
  const signs = [above, "", below];
  const marks = low < 0 ? [high, 0, low] : [high, (high + low) / 2, low];
  marks.forEach((value, i) => {
    context.fillText(
      signs[i] + fixed(value, value === 0 ? 0 : digits),
      left + 13,
      top + 5 * type.unit + ((tall - 10 * type.unit) * i) / 2,
    );
  });
}
