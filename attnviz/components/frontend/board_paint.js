// Draws one placed matrix with its labels. Uses only what a canvas and a vector export have in common.

import { blend, HATCH, INK, inkOn, SCALES } from "./colours.js";
import { fitFormula, labelText, LONGEST, shorten, ticks, TURN } from "./board_layout.js";
import { typeFor } from "./type.js";

export const AXIS_TITLES = {
  query: "query (from)",
  key: "key (to)",
  model: "model width C",
  dim: "head width D",
  concat: "heads side by side, H·D",
};
const SMALLEST = 7; // px, type size of numbers in cells; under it they are left out
const GRID = 9; // px: cells from this size on are set apart
const UNDER_BUTTONS = 92; // px from the top of the picture: a colour bar begins below the zoom buttons
const AWAY = 4; // px between a formula and what stands right of it
const COVER = { light: "#E4E1EE", dark: "#3B3650" };

/**
 * `pen` is {context, theme, font, type, labels, view(kind, count) -> [from, to], written}; `type` is from type.js. Each
 * label that is written is added to `written`: {panel, side: "rows" | "columns", x, y, turn, box}, where the box [left,
 * top, width, height] is around (x, y), turned with it.
 */
export function paintPlace(pen, place, image) {
  const { context } = pen;
  context.save();
  context.globalAlpha = place.alpha ?? 1;
  const [from, to] = window_(pen, place);
  const cell = { width: place.width / (to.column - from.column), height: place.height / (to.row - from.row) };
  paintCells(pen, place, image, { from, to, cell });
  if (place.panel.parts) paintHeads(pen, place, { from, to, cell });
  context.globalAlpha *= place.words ?? 1;
  paintTitle(pen, place);
  if (place.rowLabels) paintRowLabels(pen, place, { from, to, cell });
  if (place.columnLabels) paintColumnLabels(pen, place, { from, to, cell });
  if (place.panel.bar) paintBar(pen, place);
  context.restore();
}

/** Writes a formula from `x` on around the height `middle`, as large as fits into `room` px. */
export function paintFormula({ context, theme, font, type }, text, { x, room, middle }) {
  context.font = `100px ${font}`;
  const widthOf = (line) => context.measureText(line).width / 100;
  const fits = fitFormula(text, room - AWAY, widthOf, { size: 15 * type.unit, least: type.fine });
  if (!fits) return;
  const { lines, size } = fits;
  context.font = `${size}px ${font}`;
  context.fillStyle = INK[theme].text;
  context.textAlign = "left";
  context.textBaseline = "middle";
  lines.forEach((line, n) => context.fillText(line, x, middle + (n - (lines.length - 1) / 2) * 1.3 * size));
}

/** The part of the matrix that is in view, in cells: [{row, column}, {row, column}]. */
function window_(pen, { panel }) {
  const [top, bottom] = pen.view(panel.rows, panel.shape[0]);
  const [left, right] = pen.view(panel.cols, panel.shape[1]);
  return [
    { row: top, column: left },
    { row: bottom, column: right },
  ];
}

function paintTitle({ context, theme, font, type }, { panel, x, y, titleRoom }) {
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillStyle = panel.ink ?? INK[theme][panel.role] ?? INK[theme].text;
  context.font = `600 ${14 * type.unit}px ${font}`;
  const widthOf = (text) => context.measureText(text).width;
  context.fillText(shorten(panel.title, titleRoom, widthOf), x, y - 21 * type.unit);
  context.font = `${type.fine}px ${font}`;
  const [rows, cols] = panel.shape;
  const size = `${rows} × ${cols}`;
  const whole =
    panel.low_seen === null || panel.low_seen === undefined
      ? size
      : `${size} · ${plainNumber(panel.low_seen, 2)} … ${plainNumber(panel.high_seen, 2)}`;
  context.fillText(widthOf(whole) <= titleRoom ? whole : size, x, y - 6 * type.unit);
}

function paintCells(pen, place, image, { from, to, cell }) {
  const { context, theme } = pen;
  const { panel, x, y, width, height } = place;
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  if (panel.gaps || place.mix?.from.panel.gaps) {
    context.fillStyle = hatching(context, theme);
    context.fillRect(x, y, width, height);
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
  if (Math.min(cell.width, cell.height) >= GRID) paintGrid(pen, place, { from, to, cell });
  if (place.covers) paintCovers(pen, place, { from, cell });
  if (place.numbers !== 0 && panel.numbered) paintNumbers(pen, place, { from, to, cell });
  context.restore();
  context.strokeStyle = INK[theme].rule;
  context.lineWidth = 0.5;
  context.globalAlpha *= 0.6;
  context.strokeRect(x, y, width, height);
  context.globalAlpha = place.alpha ?? 1;
}

const tiles = {};

/** The tile says what is drawn on it, for those who make hatching of lines. */
function hatching(context, theme) {
  const tile = (tiles[theme] ??= hatchTile(theme));
  return context.createPattern(tile, "repeat");
}

function hatchTile(theme) {
  const tile = document.createElement("canvas");
  tile.width = 6;
  tile.height = 6;
  const pen = tile.getContext("2d");
  const [ground, line] = HATCH[theme];
  tile.hatch = { ground, line, lineWidth: 1.4 };
  pen.fillStyle = ground;
  pen.fillRect(0, 0, 6, 6);
  pen.strokeStyle = line;
  pen.lineWidth = tile.hatch.lineWidth;
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift - 1, 7);
    pen.lineTo(shift + 7, -1);
  }
  pen.stroke();
  return tile;
}

function paintGrid({ context, theme }, { x, y, width, height }, { from, to, cell }) {
  context.fillStyle = INK[theme].canvas;
  for (let j = Math.ceil(from.column); j <= to.column; j += 1) {
    context.fillRect(x + (j - from.column) * cell.width - 0.5, y, 1, height);
  }
  for (let i = Math.ceil(from.row); i <= to.row; i += 1) {
    context.fillRect(x, y + (i - from.row) * cell.height - 0.5, width, 1);
  }
}

function paintCovers({ context, theme, font, type }, { panel, x, y, covers }, { from, cell }) {
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

/**
 * How the numbers of a matrix are written in cells of this size, or null where none fit: their decimals, and where all
 * are at most 1, as weights are, without the zero before the point if that leaves room for the second decimal. Where
 * nothing may be smaller than `least`, numbers that would have to be are left out.
 */
export function numbering(panel, cell, { unit, least } = typeFor()) {
  const digits = Math.max(1, Math.floor(Math.log10(Math.max(1, panel.largest))) + 1) + (panel.low < 0 ? 1 : 0);
  const type = (letters) =>
    Math.min(14 * unit, cell.height * (least ? 0.85 : 0.72), (cell.width * 0.92) / (letters * 0.53));
  const small = panel.scale === "weights" || panel.largest < 0.995;
  const ways = [
    {
      decimals: 2,
      bare: false,
      type: panel.largest < 9.995 ? type(digits + 2.5) : 0,
      least: Math.max(SMALLEST + 1, least),
    },
    {
      decimals: 2,
      bare: true,
      type: small ? type(2.6 + (panel.low < 0 ? 1 : 0)) : 0,
      least: Math.max(SMALLEST, least),
    },
    { decimals: 1, bare: false, type: small ? 0 : type(digits + 1.5), least: Math.max(SMALLEST, least) },
  ];
  return ways.find((way) => way.type >= way.least) ?? null;
}

function paintNumbers(pen, place, { from, to, cell }) {
  const { context, theme, font } = pen;
  const { panel, x, y } = place;
  const shown = numbering(panel, cell, pen.type);
  if (!shown) return;
  context.font = `${shown.type}px ${font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.globalAlpha *= place.numbers ?? 1;
  const scale = SCALES[theme][panel.scale];
  const [rows, cols] = panel.shape;
  for (let i = Math.floor(from.row); i < Math.min(rows, to.row); i += 1) {
    for (let j = Math.floor(from.column); j < Math.min(cols, to.column); j += 1) {
      const value = panel.data[i * cols + j];
      if (Number.isNaN(value) || place.covers?.(i, j)) continue;
      context.fillStyle = inkOn(blend(scale, (value - panel.low) / (panel.high - panel.low || 1)));
      const text = plainNumber(value, shown.decimals);
      context.fillText(
        shown.bare ? bared(text) : text,
        x + (j + 0.5 - from.column) * cell.width,
        y + (i + 0.5 - from.row) * cell.height + 0.5,
      );
    }
  }
  context.globalAlpha = place.alpha ?? 1;
}

/** A number of at most 1 as it is written in a narrow cell, and not wider where it rounds to 1: .36, 1.0. */
const bared = (text) => text.replace(/^(−?)0/, "$1").replace(/1\.00$/, "1.0");

/** A number in a cell: a true minus sign, no negative zero. */
export function plainNumber(value, decimals) {
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

function paintHeads({ context, theme }, { panel, x, y, width, height }, { from, cell }) {
  const { width: size, followed } = panel.parts;
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

function paintRowLabels({ context, theme, font, type, labels, written }, { panel, x, y, height }, { from, to, cell }) {
  const tokens = labels[panel.rows];
  const size = Math.max(9, type.least, Math.min(type.label, cell.height * 1.05));
  const { shown, every } = ticks(
    from.row,
    Math.min(to.row, panel.shape[0]),
    cell.height,
    Math.max(tokens ? 10 : 12, type.least),
  );
  context.font = `${size}px ${font}`;
  context.fillStyle = INK[theme].text;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const widthOf = (text) => context.measureText(text).width;
  for (const i of shown) {
    const middle = y + (i + 0.5 - from.row) * cell.height;
    if (middle < y - 1 || middle > y + height + 1) continue;
    const text = tokens ? shorten(labelText(tokens, i, every), LONGEST * type.unit, widthOf) : String(i);
    context.fillText(text, x - 6, middle);
    const wide = widthOf(text);
    written.push({
      panel: panel.name,
      side: "rows",
      x: x - 6,
      y: middle,
      turn: 0,
      box: [-wide, -0.6 * size, wide, 1.2 * size],
    });
  }
  paintAxisTitle(context, AXIS_TITLES[panel.rows], { font, type, ink: INK[theme], kind: panel.rows }, (width) => {
    const left = tokens
      ? Math.min(LONGEST * type.unit, Math.max(10, ...shown.map((i) => widthOf(labelText(tokens, i, every))))) + 8
      : 22 * type.unit;
    return { x: x - left - 8 * type.unit, y: y + height / 2, turn: -Math.PI / 2, fits: width <= height + 60 };
  });
}

function paintColumnLabels(
  { context, theme, font, type, labels, written },
  { panel, x, y, width, height, titleRoom },
  { from, to, cell },
) {
  const tokens = labels[panel.cols];
  const last = Math.min(to.column, panel.shape[1]);
  const longest = LONGEST * type.unit;
  context.font = `${type.label}px ${font}`;
  context.fillStyle = INK[theme].text;
  const widthOf = (text) => context.measureText(text).width;
  const named = panel.ticks ? Object.entries(panel.ticks).map(([j, text]) => [Number(j), text]) : null;
  const widest = tokens ? Math.min(longest, Math.max(10, ...tokens.map(widthOf))) : 10;
  const turned = Boolean(tokens) && widest > cell.width - 4;
  const { shown, every } = ticks(from.column, last, cell.width, Math.max(tokens ? 11 : 22 * type.unit, type.least));
  const texts = named ?? shown.map((j) => [j, tokens ? labelText(tokens, j, every) : String(j)]);
  let deepest = 14 * type.unit;
  for (const [j, text] of texts) {
    const middle = x + (j + 0.5 - from.column) * cell.width;
    if (middle < x - 1 || middle > x + width + 1) continue;
    const short = shorten(text, longest, widthOf);
    const [foot, turn] = [y + height + (turned ? 6 : 13) * type.unit, turned ? -TURN : 0];
    context.save();
    context.translate(middle, foot);
    context.rotate(turn);
    context.textAlign = turned ? "right" : "center";
    context.textBaseline = turned ? "middle" : "alphabetic";
    context.fillText(short, 0, 0);
    context.restore();
    const [wide, size] = [widthOf(short), type.label];
    const box = turned ? [-wide, -0.6 * size, wide, 1.2 * size] : [-wide / 2, -0.9 * size, wide, 1.2 * size];
    written.push({ panel: panel.name, side: "columns", x: middle, y: foot, turn, box });
    if (turned) deepest = Math.max(deepest, wide * Math.sin(TURN) + 8);
  }
  const title = axisTitle(panel.cols, titleRoom, widthOf);
  paintAxisTitle(context, title, { font, type, ink: INK[theme], kind: panel.cols }, (wide) => ({
    x: x + Math.max(width, Math.min(wide, 60)) / 2,
    y: y + height + deepest + 12 * type.unit,
    turn: 0,
    fits: true,
  }));
}

/**
 * What is written under the columns of a kind: its name, or where the next matrix is too near, its letter or one word.
 */
export function axisTitle(kind, room, widthOf) {
  const title = AXIS_TITLES[kind];
  if (!title || widthOf(title) <= room) return title;
  const words = title.split(" ");
  return title.endsWith(")") ? words[0] : words.at(-1);
}

function paintAxisTitle(context, text, { font, type, ink, kind }, where) {
  if (!text) return;
  context.save();
  context.font = `${type.label}px ${font}`;
  context.fillStyle = ink[kind] ?? ink.text;
  const { x, y, turn, fits } = where(context.measureText(text).width);
  if (fits) {
    context.translate(x, y);
    context.rotate(turn);
    context.textAlign = "center";
    context.textBaseline = turn ? "alphabetic" : "middle";
    context.fillText(text, 0, 0);
  }
  context.restore();
}

function paintBar({ context, theme, font, type }, { panel, x, y, width, height }) {
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
  const digits = panel.high >= 9.995 ? 1 : panel.high < 0.1 ? 3 : 2;
  const marks = panel.low < 0 ? [panel.high, 0, panel.low] : [panel.high, (panel.high + panel.low) / 2, panel.low];
  marks.forEach((value, i) => {
    context.fillText(
      plainNumber(value, value === 0 ? 0 : digits),
      left + 13,
      top + 5 * type.unit + ((tall - 10 * type.unit) * i) / 2,
    );
  });
}
