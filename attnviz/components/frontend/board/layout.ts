// The layout of a picture's matrices: a grid with cells of equal size where possible, and space for labels.

import { sumOf as sum } from "../core/arithmetic.ts";
import { NUMBERED_LABELS, TURN as DEGREES } from "../core/constants.ts";
import { typeFor } from "../core/type.ts";
import { signsOf } from "./panel.ts";

// Lengths in px; those that hold text grow with its type (see core/type.ts).
const TITLE = 38; // above each matrix: its name, its shape and range
const AXIS_TITLE = 18;
const GAP = 18;
const BAR = 50; // a colour bar with its numbers, right of its matrix
const BEYOND = 8; // more, where a number at its end has a "≥" or a "≤"
const BUTTONS = 28; // the zoom buttons, right of all
const FOCUS = 18; // the button left of a matrix's title
const INDEX_GUTTER = 22; // labels that are numbers only
const LONGEST = 104; // longer labels are shortened in the middle, except beside empty space
const LABELLED = 0.8; // of the share of a picture's width that a column, or the labels of one, would have
const LARGEST_CELL = { width: 60, height: 42 };
const FEWEST = { width: 14, height: 11 }; // cells that fill a large picture: those of fewer are larger than that
const EVEN = { width: 20, height: 11.5 }; // from this size on, in units of type, all matrices get cells of one size
export const TURN = (DEGREES * Math.PI) / 180;

/** A picture before it has a size: which matrices stand where, and which of them carry labels. */
export function arrange(picture: BoardPicture<CompletePanel>): Slot[] {
  const slots: Slot[] = [];
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
        rowNames: !picture.narrow || left === null || !areSame(picture.labels, picture.panels[left].rows, panel.rows),
        columnLabels:
          Boolean(panel.cols || panel.ticks) &&
          (below === undefined || picture.apart === true || picture.panels[below].cols !== panel.cols),
      });
    }),
  );
  return slots;
}

/** Whether two kinds of axes have the same tokens, as queries and keys of one text. */
function areSame(labels: Labels, one: string, other: string) {
  const [own, others] = [labels[one], labels[other]];
  return Boolean(own && own.length === others?.length && own.every((label, i) => label === others[i]));
}

/**
 * Gives each matrix its box {x, y, width, height} in a picture of `size`, and what is written left of it its `gutter`.
 * `widthOf(text)` measures a label; `span(kind, count)` says how many rows or columns of an axis are in view; `type` is
 * from core/type.ts.
 */
export function place(
  picture: BoardPicture<CompletePanel>,
  size: Size,
  given: { widthOf: WidthOf; span: (kind: string, count: number) => number; type?: TypeSizes },
): Place[] {
  const unit = given.type?.unit ?? 1;
  const labelled = arrange(picture).filter(hasRowNames(picture.labels));
  const gutters = Math.max(1, new Set(labelled.map(({ column }) => column)).size);
  const each = size.width / ((picture.grid[0]?.length ?? 1) + gutters);
  const least = { rows: Math.min(LONGEST * unit, LABELLED * each), columns: LONGEST * unit };
  const { places, spare } = placeWith(picture, size, given, least);
  const room = {
    rows: least.rows + Math.max(0, spare.width / gutters - GAP),
    columns: least.columns + Math.max(0, spare.height / picture.grid.length - GAP),
  };
  const shortens = (side: "rows" | "columns") =>
    room[side] > least[side] &&
    places.some((at) => {
      const { panel, columnLabels } = at;
      const isWritten = side === "rows" ? hasRowNames(picture.labels)(at) : columnLabels;
      const labels = isWritten && picture.labels[side === "rows" ? panel.rows : panel.cols];
      return labels && labels.some((_, i) => given.widthOf(labelText(labels, i, 2)) > least[side]);
    });
  return shortens("rows") || shortens("columns") ? placeWith(picture, size, given, room).places : places;
}

/**
 * The places where labels may be as long as `most`, and the room that they leave. Zooming makes no matrix smaller:
 * it keeps its box, however much of it is in view.
 */
function placeWith(
  picture: BoardPicture<CompletePanel>,
  size: Size,
  { widthOf, span, type = typeFor() }: Parameters<typeof place>[2],
  most: { rows: number; columns: number },
) {
  const { unit } = type;
  const { labels } = picture;
  const slots = arrange(picture);
  const columns = picture.grid[0]?.map((_, c) => slots.filter(({ column }) => column === c)) ?? [];
  const rows = picture.grid.map((_, r) => slots.filter(({ row }) => row === r));
  const longest: (side: "rows" | "columns") => (kind: string) => number = (side) => (kind) =>
    longestLabel(labels[kind], widthOf, { unit, most: most[side] });

  const before = columns.map((own, c) => gutter(own, c, longest("rows"), { labels, unit }));
  const after = columns.map(
    (own, c) =>
      Math.max(0, ...own.map(({ panel }) => barRoom(panel))) * unit +
      (c < columns.length - 1 ? GAP : own.some(({ panel }) => panel.bar) ? 0 : BUTTONS),
  );
  const counts = {
    width: columns.map((own) => Math.max(1, ...own.map(({ panel }) => panel.shape[1]))),
    height: rows.map((own) => Math.max(1, ...own.map(({ panel }) => panel.shape[0]))),
  };
  const freeWidth = size.width - sum(before) - sum(after);
  const widths = share(freeWidth, counts.width, picture.widths, cellLimits("width", size, unit));
  /** How wide the cells in view are. */
  const cellWidth = ({ panel: { cols, shape }, column }: Slot) =>
    ((widths[column] / counts.width[column]) * shape[1]) / span(cols, shape[1]);

  const below = rows.map((own) =>
    Math.max(0, ...own.map((slot) => footer(slot, cellWidth(slot), longest("columns"), { labels, unit }))),
  );
  const freeHeight = size.height - rows.length * TITLE * unit - sum(below) - GAP * 0.5 * (rows.length - 1) - 2;
  const heights = share(freeHeight, counts.height, picture.heights, cellLimits("height", size, unit));

  const placed = slots.map((slot) => ({
    ...slot,
    titleRoom: { title: 0, about: 0, axis: 0 },
    x: sum(before.slice(0, slot.column + 1)) + sum(widths.slice(0, slot.column)) + sum(after.slice(0, slot.column)),
    y:
      TITLE * unit * (slot.row + 1) +
      sum(heights.slice(0, slot.row)) +
      sum(below.slice(0, slot.row)) +
      GAP * 0.5 * slot.row,
    width: (widths[slot.column] * slot.panel.shape[1]) / counts.width[slot.column],
    height: (heights[slot.row] * slot.panel.shape[0]) / counts.height[slot.row],
    turned: isTurned(slot.panel, cellWidth(slot), longest("columns"), labels),
    gutter: before[slot.column],
    labelRoom: most,
  }));
  for (const at of placed) at.titleRoom = titleRoom(at, placed, { size, type });
  return { places: placed, spare: { width: freeWidth - sum(widths), height: freeHeight - sum(heights) } };
}

/** What the colour bar of a matrix takes, in units of type. */
const barRoom = (panel: CompletePanel) => (panel.bar ? BAR + (signsOf(panel).some(Boolean) ? BEYOND : 0) : 0);

/**
 * How wide the title of a matrix, what is said of it and the title of its columns may be: up to the next matrix beside
 * it or the end, and in the first row up to the zoom buttons, which lecture mode does not have.
 */
function titleRoom(at: Place, places: Place[], { size, type }: { size: Size; type: TypeSizes }) {
  const next = Math.min(...places.filter(({ row, x }) => row === at.row && x > at.x).map(({ x }) => x));
  const upTo = (end: number) => Math.min(size.width, end) - at.x - 4;
  const end = at.row === 0 && !type.least ? size.width - BUTTONS : size.width;
  return {
    title: upTo(Math.min(end, next - FOCUS * type.unit)),
    about: upTo(Math.min(end, next)),
    axis: upTo(next),
  };
}

/**
 * Divides the pixels: equal cells where they stay readable, else the proportions of the picture.
 * @param cells from cellLimits
 */
function share(
  free: number,
  counts: number[],
  wanted: number[] | undefined,
  { even: readable, largest }: { even: number; largest: number },
) {
  const room = Math.max(free, 10 * counts.length);
  const even = Math.min(largest, room / sum(counts));
  if (even >= readable || !wanted) return counts.map((count) => count * even);
  const total = sum(wanted);
  return counts.map((count, i) => Math.min((room * wanted[i]) / total, count * largest));
}

/**
 * From which size on all matrices get cells of one size, and how large a cell may be: larger in a large picture.
 */
function cellLimits(side: "width" | "height", size: Size, unit: number) {
  return { even: EVEN[side] * unit, largest: Math.max(LARGEST_CELL[side] * unit, size[side] / FEWEST[side]) };
}

/** Whether a matrix has tokens beside its rows. */
const hasRowNames =
  (labels: Labels) =>
  ({ panel, rowLabels, rowNames }: Slot) =>
    rowLabels && rowNames && Boolean(labels[panel.rows]);

function gutter(
  slots: Slot[],
  column: number,
  longest: (kind: string) => number,
  { labels, unit }: { labels: Labels; unit: number },
) {
  const own = slots
    .filter(({ rowLabels }) => rowLabels)
    .map(({ panel, rowNames }) => {
      const text = labels[panel.rows] ? longest(panel.rows) + 8 : INDEX_GUTTER * unit;
      return (rowNames ? text : 0) + AXIS_TITLE * unit;
    });
  return Math.max(column === 0 ? 4 : 0, ...own);
}

function footer(
  { panel, columnLabels }: Slot,
  cell: number,
  longest: (kind: string) => number,
  { labels, unit }: { labels: Labels; unit: number },
) {
  if (!columnLabels) return 0;
  const turned = isTurned(panel, cell, longest, labels);
  return (turned ? longest(panel.cols) * Math.sin(TURN) + 12 : 18 * unit) + (panel.cols ? AXIS_TITLE * unit : 2);
}

/** Whether the labels of the columns are too wide to stand side by side. */
function isTurned({ cols }: Panel, cell: number, longest: (kind: string) => number, labels: Labels) {
  return Boolean(labels[cols]) && longest(cols) > cell - 4;
}

function longestLabel(labels: string[] | undefined, widthOf: WidthOf, { unit, most }: { unit: number; most: number }) {
  if (!labels) return INDEX_GUTTER * unit;
  let longest = 10;
  for (let i = 0; i < labels.length && longest < most; i += 1) {
    longest = Math.max(longest, widthOf(labelText(labels, i, 2)));
  }
  return Math.min(most, longest);
}

/** A token as it is written on an axis: where many are left out, its number says which it is. */
export function labelText(labels: string[], i: number, every: number) {
  return every > 1 && labels.length > NUMBERED_LABELS ? `${i} ${labels[i]}` : labels[i];
}

/**
 * Which positions of an axis are labelled: each where a label has `needed` pixels, else every 2nd, 4th, ...; and
 * before all others those of `always`, where one leaves the next room.
 */
export function ticks(from: number, to: number, cell: number, needed: number, always: number[] = []) {
  let every = 1;
  while (cell * every < needed && every < 4096) every *= 2;
  const shown: number[] = [];
  const hasRoom = (i: number) => shown.every((other) => Math.abs(other - i) * cell >= needed);
  for (const i of always) if (i >= from && i < to && hasRoom(i)) shown.push(i);
  for (let i = Math.ceil(Math.max(0, from) / every) * every; i < to; i += every) {
    if (every === 1 ? !always.includes(i) : hasRoom(i)) shown.push(i);
  }
  return { shown: shown.sort((a, b) => a - b), every };
}

/**
 * Shortens a text in the middle until it is at most `room` pixels wide: its end often says more than its middle.
 */
export function shorten(text: string, room: number, widthOf: WidthOf) {
  if (widthOf(text) <= room) return text;
  const letters = Array.from(text.length > 200 ? `${text.slice(0, 100)}${text.slice(-100)}` : text);
  let keep = letters.length - 1;
  while (keep > 0) {
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

const NAMED = /^\p{Lu} [\p{Letter} ']+$/u; // a matrix's symbol and its name, as "K key"; no formula
const EXPLAINED = /^(.+?)(?: =|:) /u; // a name, and what it is: "difference: half the sum of |p − q|"

/** The title of a matrix in `room` px: whole, or its symbol or name alone, or shortened in the middle. */
export function fitTitle(title: string, room: number, widthOf: WidthOf) {
  if (widthOf(title) <= room) return title;
  const isNamed = NAMED.test(title);
  for (let kept = title.length - 1; isNamed && title[0] === "W" && kept > 2; kept -= 1) {
    const cut = `${title.slice(0, kept)}…`; // Q, K and V each have a W
    if (widthOf(cut) <= room) return cut;
  }
  if (isNamed) return title[0];
  return shorten(EXPLAINED.exec(title)?.[1] ?? title, room, widthOf);
}

/**
 * The ticks with words, by their columns, that do not touch: of two that would, the one with fewer letters, or the
 * first.
 */
export function spaced(named: [number, string][], cell: number, widthOf: WidthOf) {
  const kept: { at: number; wide: number; tick: [number, string] }[] = [];
  for (const tick of named) {
    const own = { at: tick[0] * cell, wide: widthOf(tick[1]), tick };
    const touches = (other?: (typeof kept)[0]) => other && own.at - other.at < (own.wide + other.wide) / 2 + 3;
    while (touches(kept.at(-1)) && (kept.at(-1)?.wide ?? 0) > own.wide) kept.pop();
    if (!touches(kept.at(-1))) kept.push(own);
  }
  return kept.map(({ tick }) => tick);
}

/**
 * How a formula such as "A · X = Y" is written in `room` px: {lines, size}, on one line or broken before its equals
 * sign, smaller where it must be but never below `least`; null where it does not fit. `widthOf(text)` is its width at 1
 * px.
 */
export function fitFormula(
  text: string,
  room: number,
  widthOf: WidthOf,
  { size, least }: { size: number; least: number },
) {
  const [left, ...right] = text.split(" = ");
  for (const lines of right.length ? [[text], [left, `= ${right.join(" = ")}`]] : [[text]]) {
    const largest = Math.min(size, room / Math.max(...lines.map(widthOf)));
    if (largest >= (lines.length > 1 ? least : size)) return { lines, size: largest };
  }
  return null;
}
