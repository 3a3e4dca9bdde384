// The layout of a picture's matrices: a grid with cells of equal size where possible, and space for labels.

import { typeFor } from "../core/type.js";

// Lengths in px; those that hold text grow with its type (see core/type.js).
const TITLE = 38; // above each matrix: its name, its shape and range
const AXIS_TITLE = 18;
const GAP = 18;
const BAR = 50; // a colour bar with its numbers, right of its matrix
const BUTTONS = 28; // the zoom buttons, right of all
const INDEX_GUTTER = 22; // labels that are numbers only
export const LONGEST = 104; // longer row labels are shortened in the middle
const NUMBERED = 24; // tokens from which on thinned labels carry their number
const LARGEST_CELL = { width: 60, height: 42 };
const EVEN = { width: 20, height: 11.5 }; // from this size on, in units of type, all matrices get cells of one size
export const TURN = (55 * Math.PI) / 180;

/**
 * A picture before it has a size: which matrices stand where, and which of them carry labels.
 * @param {BoardPicture<CompletePanel>} picture @returns {Slot[]}
 */
export function arrange(picture) {
  /** @type {Slot[]} */
  const slots = [];
  const { grid } = picture;
  grid.forEach((row, r) =>
    row.forEach((index, c) => {
      if (index === null) return;
      const panel = picture.panels[index];
      const left = row.slice(0, c).findLast((other) => other !== null) ?? null;
      const below = grid
        .slice(r + 1)
        .map((lower) => lower[c])
        .find((other) => other !== null && other !== undefined);
      slots.push({
        panel,
        row: r,
        column: c,
        // Labels are written once for matrices that share an axis.
        rowLabels: left === null || picture.panels[left].rows !== panel.rows,
        columnLabels:
          Boolean(panel.cols || panel.ticks) && (below === undefined || picture.panels[below].cols !== panel.cols),
      });
    }),
  );
  return slots;
}

/**
 * Gives each matrix its box {x, y, width, height} in a picture of `size`, and what is written left of it its `gutter`.
 * `widthOf(text)` measures a label; `span(kind, count)` says how many rows or columns of an axis are in view; `type` is
 * from core/type.js.
 * @param {BoardPicture<CompletePanel>} picture @param {Size} size
 * @param {{ widthOf: WidthOf, span: (kind: string, count: number) => number, type?: TypeSizes }} given
 * @returns {Place[]}
 */
export function place(picture, size, { widthOf, span, type = typeFor() }) {
  const { unit } = type;
  const slots = arrange(picture);
  const columns = picture.grid[0]?.map((_, c) => slots.filter(({ column }) => column === c)) ?? [];
  const rows = picture.grid.map((_, r) => slots.filter(({ row }) => row === r));
  /** @param {string} kind */
  const longest = (kind) => longestLabel(picture.labels[kind], widthOf, unit);

  const before = columns.map((own, c) => gutter(own, c, longest, { labels: picture.labels, unit }));
  const after = columns.map(
    (own, c) =>
      (own.some(({ panel }) => panel.bar) ? BAR * unit : 0) +
      (c < columns.length - 1 ? GAP : own.some(({ panel }) => panel.bar) ? 0 : BUTTONS),
  );
  const freeWidth = size.width - sum(before) - sum(after);
  const counts = {
    width: columns.map((own) => Math.max(1, ...own.map(({ panel }) => span(panel.cols, panel.shape[1])))),
    height: rows.map((own) => Math.max(1, ...own.map(({ panel }) => span(panel.rows, panel.shape[0])))),
  };
  const widths = share(freeWidth, counts.width, picture.widths, "width", unit);

  const below = rows.map((own) =>
    Math.max(
      0,
      ...own.map((slot) =>
        footer(slot, widths[slot.column] / counts.width[slot.column], longest, { labels: picture.labels, unit }),
      ),
    ),
  );
  const freeHeight = size.height - rows.length * TITLE * unit - sum(below) - GAP * 0.5 * (rows.length - 1) - 2;
  const heights = share(freeHeight, counts.height, picture.heights, "height", unit);

  const placed = slots.map((slot) => ({
    ...slot,
    titleRoom: 0,
    x: sum(before.slice(0, slot.column + 1)) + sum(widths.slice(0, slot.column)) + sum(after.slice(0, slot.column)),
    y:
      TITLE * unit * (slot.row + 1) +
      sum(heights.slice(0, slot.row)) +
      sum(below.slice(0, slot.row)) +
      GAP * 0.5 * slot.row,
    width: (widths[slot.column] * span(slot.panel.cols, slot.panel.shape[1])) / counts.width[slot.column],
    height: (heights[slot.row] * span(slot.panel.rows, slot.panel.shape[0])) / counts.height[slot.row],
    turned: isTurned(slot.panel, widths[slot.column] / counts.width[slot.column], longest, picture.labels),
    gutter: before[slot.column],
  }));
  for (const at of placed) at.titleRoom = titleRoom(at, placed, size);
  return placed;
}

/**
 * How wide a title may be: up to the next matrix of its row, or to the picture's end.
 * @param {Place} at @param {Place[]} places @param {Size} size
 */
function titleRoom(at, places, size) {
  const next = places.filter(({ row, x }) => row === at.row && x > at.x).map(({ x }) => x);
  return Math.min(size.width, ...next) - at.x - 4;
}

/**
 * Divides the pixels: equal cells where they stay readable, else the proportions of the picture.
 * @param {number} free @param {number[]} counts @param {number[] | undefined} wanted @param {"width" | "height"} side
 * @param {number} unit
 */
function share(free, counts, wanted, side, unit) {
  const room = Math.max(free, 10 * counts.length);
  const largest = LARGEST_CELL[side] * unit;
  const even = Math.min(largest, room / sum(counts));
  if (even >= EVEN[side] * unit || !wanted) return counts.map((count) => count * even);
  const total = sum(wanted);
  return counts.map((count, i) => Math.min((room * wanted[i]) / total, count * largest));
}

/**
 * @param {Slot[]} slots @param {number} column @param {(kind: string) => number} longest
 * @param {{ labels: Labels, unit: number }} given
 */
function gutter(slots, column, longest, { labels, unit }) {
  const own = slots
    .filter(({ rowLabels }) => rowLabels)
    .map(({ panel }) => {
      const text = labels[panel.rows] ? longest(panel.rows) + 8 : INDEX_GUTTER * unit;
      return text + AXIS_TITLE * unit;
    });
  return Math.max(column === 0 ? 4 : 0, ...own);
}

/**
 * @param {Slot} slot @param {number} cell @param {(kind: string) => number} longest
 * @param {{ labels: Labels, unit: number }} given
 */
function footer({ panel, columnLabels }, cell, longest, { labels, unit }) {
  if (!columnLabels) return 0;
  const turned = isTurned(panel, cell, longest, labels);
  return (turned ? longest(panel.cols) * Math.sin(TURN) + 12 : 18 * unit) + (panel.cols ? AXIS_TITLE * unit : 2);
}

/**
 * Whether the labels of the columns are too wide to stand side by side.
 * @param {Panel} panel @param {number} cell @param {(kind: string) => number} longest @param {Labels} labels
 */
function isTurned({ cols }, cell, longest, labels) {
  return Boolean(labels[cols]) && longest(cols) > cell - 4;
}

/** @param {string[] | undefined} labels @param {WidthOf} widthOf @param {number} unit */
function longestLabel(labels, widthOf, unit) {
  if (!labels) return INDEX_GUTTER * unit;
  return Math.min(LONGEST * unit, Math.max(10, ...labels.map((_, i) => widthOf(labelText(labels, i, 2)))));
}

/**
 * A token as it is written on an axis: where many are left out, its number says which it is.
 * @param {string[]} labels @param {number} i @param {number} every
 */
export function labelText(labels, i, every) {
  return every > 1 && labels.length > NUMBERED ? `${i} ${labels[i]}` : labels[i];
}

/**
 * Which positions of an axis are labelled: each where a label has `needed` pixels, else every 2nd, 4th, ...
 * @param {number} from @param {number} to @param {number} cell @param {number} needed
 */
export function ticks(from, to, cell, needed) {
  let every = 1;
  while (cell * every < needed && every < 4096) every *= 2;
  const shown = [];
  for (let i = Math.ceil(Math.max(0, from) / every) * every; i < to; i += every) shown.push(i);
  return { shown, every };
}

/**
 * Shortens a text in the middle until it is at most `room` pixels wide: its end often says more than its middle.
 * @param {string} text @param {number} room @param {WidthOf} widthOf
 */
export function shorten(text, room, widthOf) {
  if (widthOf(text) <= room) return text;
  const letters = Array.from(text.length > 200 ? `${text.slice(0, 100)}${text.slice(-100)}` : text);
  let keep = letters.length - 1;
  while (keep > 1) {
    const [before, after] = [
      letters.slice(0, Math.ceil(keep / 2)),
      letters.slice(letters.length - Math.floor(keep / 2)),
    ];
    const shown = `${before.join("")}…${after.join("")}`;
    if (widthOf(shown) <= room) return shown;
    keep -= 1;
  }
  return "…";
}

/**
 * How a formula such as "A · X = Y" is written in `room` px: {lines, size}, on one line or broken before its equals
 * sign, smaller where it must be but never below `least`; null where it does not fit. `widthOf(text)` is its width at 1
 * px.
 * @param {string} text @param {number} room @param {WidthOf} widthOf @param {{ size: number, least: number }} sizes
 */
export function fitFormula(text, room, widthOf, { size, least }) {
  const [left, ...right] = text.split(" = ");
  for (const lines of right.length ? [[text], [left, `= ${right.join(" = ")}`]] : [[text]]) {
    const largest = Math.min(size, room / Math.max(...lines.map(widthOf)));
    if (largest >= (lines.length > 1 ? least : size)) return { lines, size: largest };
  }
  return null;
}

/** @param {number[]} numbers */
const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
