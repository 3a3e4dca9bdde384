// The arithmetic of one cell, in the empty corner of a product: products one below the other, and their sum.

import { cornerOf } from "../board/paint.ts";
import { runningSums } from "../core/arithmetic.ts";
import { INK } from "../core/colours.ts";
import { fixed } from "../core/format.ts";
import { decimalsOf } from "./words.ts";
import type { Strip } from "./strip.ts";

const LINE = 1.32; // of the type size
const LEAST = 8; // px of type
const LARGEST = 15;
const APART = 6; // px from the corner's edges
const TITLE = 24; // px: the height of the title beside the corner
const LONGEST = 16; // letters of a name

/** the columns: left factor, "×", right factor, "=", product */
export type Line = { cells: string[]; isSum: boolean };
export type Columns = { widths: number[]; gap: number; total: number };

/**
 * Writes the arithmetic, left of what stands upright in the corner; returns whether there is a corner with room for it.
 */
export function paintWork(
  pen: BoardPen,
  work: Work,
  { places, picture, strip }: { places: Place[]; picture: BoardPicture; strip: Strip | null },
) {
  const empty = cornerOf(picture, places);
  if (!empty) return false;
  const { context, font, type } = pen;
  const above = TITLE * type.unit;
  const free = empty.width - (strip?.room ?? 0);
  const corner = { ...empty, width: free, y: empty.y - above, height: empty.height + above };
  const { lines, sums } = linesOf(work);
  const columnsAt = (size: number) => {
    const widthOf = (text: string, weight = "") => {
      context.font = `${weight} ${size}px ${font}`;
      return context.measureText(text).width;
    };
    const widths = [0, 1, 2, 3, 4].map((n) => Math.max(0, ...lines.map(({ cells }) => widthOf(cells[n]))));
    widths[2] = Math.max(widths[2], sums.length ? widthOf("sum", "600") : 0);
    widths[4] = Math.max(widths[4], ...sums.map((text) => widthOf(text, "600")));
    const gap = widthOf(" ") * 1.3;
    return { widths, gap, total: widths.reduce((sum, width) => sum + width + (width ? gap : 0), -gap) };
  };
  const rows = lines.length + (sums.length ? 1 : 0);
  const wanted = Math.max(type.fine, Math.min(LARGEST * type.unit, corner.height / (rows * LINE)));
  const size = Math.min(wanted, (wanted * (corner.width - 2 * APART)) / columnsAt(wanted).total);
  if (size < Math.max(LEAST, type.least)) return false;
  const last = { cells: ["", "", "sum", "=", sumOf(work)], isSum: true };
  const seen = [...lines.slice(0, work.count), ...(sums.length ? [last] : [])];
  paintLines(pen, seen, { columns: columnsAt(size), size, work, corner });
  return true;
}

/** All lines, and all sums on the way. */
function linesOf({ terms, sum }: Work): { lines: Line[]; sums: string[] } {
  const decimals = decimalsIn(terms);
  const text = (x: number | null) => (x === null || Number.isNaN(x) ? "" : fixed(x, decimals));
  const lines = terms.map(({ left, right, product, label }) => ({
    cells: [
      text(left),
      left === null ? "" : "×",
      label === undefined ? text(right) : cut(label),
      Number.isNaN(product) ? "" : "=",
      text(product),
    ],
    isSum: false,
  }));
  const sums = sum === null ? [] : runningSums(terms.map(({ product }) => product)).slice(1);
  return { lines, sums: sums.map((one) => fixed(one, decimals)) };
}

const sumOf = ({ terms, sum }: Work) => (sum === null ? "" : fixed(sum, decimalsIn(terms)));

const decimalsIn = (terms: Term[]) =>
  decimalsOf(terms.flatMap(({ left, right, product }) => [left ?? 0, right ?? 0, product || 0]));

function cut(label: string) {
  const letters = Array.from(label);
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join("")}…` : label;
}

/** The last lines that fit. */
function paintLines(
  { context, theme, font }: BoardPen,
  lines: Line[],
  { columns, size, work, corner }: { columns: Columns; size: number; work: Work; corner: Box },
) {
  const step = size * LINE;
  const many = Math.max(3, Math.floor(corner.height / step));
  const all = work.terms.length + (work.sum === null ? 0 : 1);
  const isCut = lines.length > many;
  const seen = isCut ? lines.slice(lines.length - many + 1) : lines;
  const left = corner.x + Math.max(APART, (corner.width - columns.total) / 2);
  const top = corner.y + Math.max(0, (corner.height - Math.min(all, many) * step) / 2);
  const { text, rule, attention } = INK[theme];
  const inks = [INK[theme][work.inks[0]], text, INK[theme][work.inks[1]], text, text];
  context.save();
  Object.assign(context, { textAlign: "right", textBaseline: "middle" });
  context.font = `${size}px ${font}`;
  if (isCut) paintLine(context, ["", "", "⋮", "", "⋮"], { left, y: top + step / 2, columns, inks });
  const newest = seen.findLastIndex(({ isSum }) => !isSum);
  seen.forEach(({ cells, isSum }, n) => {
    const y = top + (n + (isCut ? 1 : 0) + 0.5) * step;
    context.globalAlpha = n === newest ? work.newest : 1;
    context.font = `${isSum ? "600" : ""} ${size}px ${font}`;
    if (isSum) {
      context.fillStyle = rule;
      context.fillRect(left, y - step / 2, columns.total, 1);
    }
    paintLine(context, cells, { left, y, columns, inks: isSum ? inks.map(() => attention) : inks });
  });
  context.restore();
}

function paintLine(
  context: Canvas2D,
  cells: string[],
  { left, y, columns: { widths, gap }, inks }: { left: number; y: number; columns: Columns; inks: string[] },
) {
  let x = left;
  cells.forEach((text, n) => {
    x += widths[n];
    context.fillStyle = inks[n];
    if (text) context.fillText(text, x, y);
    x += widths[n] ? gap : 0;
  });
}
