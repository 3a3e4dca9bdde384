// The numbers in a matrix's cells, and their format for the cell's size.

import { blend, inkOn, SCALES } from "../core/colours.ts";
import { CELL_NUMBERS } from "../core/constants.ts";
import { fixed } from "../core/format.ts";
import { typeFor } from "../core/type.ts";

const MOST_WEIGHT = 1.005; // which rounds to 1.00, as the float32 sum of a row may
const SMALLEST = 9; // px, type size of numbers in cells; under it they are left out
const DIGIT = 0.53; // of the type size: the width of a digit of the page's own font, with what lies between two

/**
 * How the numbers of a matrix are written in cells of this size, or null where none fit: their decimals, and where all
 * are at most 1, as weights are, without the zero before the point if that leaves room for the second decimal. Where
 * nothing may be smaller than `least`, numbers that would have to be are left out. `digit` is the width of a digit.
 */
export function numbering(
  panel: CompletePanel,
  cell: Size,
  { unit, least }: { unit: number; least: number } = typeFor(),
  digit = DIGIT,
) {
  const digits = Math.max(1, Math.floor(Math.log10(Math.max(1, panel.largest))) + 1) + (panel.low < 0 ? 1 : 0);
  const type = (letters: number) =>
    Math.min(14 * unit, cell.height * (least ? 0.85 : 0.72), (cell.width * 0.92) / (letters * digit));
  const small = panel.largest < (panel.scale === "weights" ? MOST_WEIGHT : CELL_NUMBERS.bareBelow);
  const ways = [
    {
      decimals: 2,
      bare: false,
      type: panel.largest < CELL_NUMBERS.oneDecimalFrom ? type(digits + 2.5) : 0,
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
  const legible = panel.legible ?? 0;
  return (
    ways.find((way) => way.type >= Math.max(way.least, legible)) ?? ways.find((way) => way.type >= way.least) ?? null
  );
}

/** A digit's width, for the page may have another font. @param zero the width of a 0 of 100 px */
export const digitOf = (zero: number) => Math.max(DIGIT, (1.06 * zero) / 100);

export function paintNumbers(pen: BoardPen, place: Place, { from, to, cell }: CellWindow) {
  const { context, theme, font } = pen;
  const { panel, x, y } = place;
  context.font = `100px ${font}`;
  const shown = numbering(panel, cell, pen.type, digitOf(context.measureText("0").width));
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
      if (Number.isNaN(value) || place.covers?.(i, j) || isBlank(place, i, j)) continue;
      context.fillStyle = inkOn(blend(scale, (value - panel.low) / (panel.high - panel.low || 1)));
      const text = fixed(value, shown.decimals);
      context.fillText(
        shown.bare ? bared(text) : text,
        x + (j + 0.5 - from.column) * cell.width,
        y + (i + 0.5 - from.row) * cell.height + 0.5,
      );
    }
  }
  context.globalAlpha = place.alpha ?? 1;
}

/** Whether a cell is not computed yet. */
const isBlank = ({ blank = [] }: Place, i: number, j: number) =>
  blank.some((box) => i >= box.row && i < box.row + box.rows && j >= box.column && j < box.column + box.columns);

/** Writes a value into a cell of a matrix, as its own numbers are written. */
export function paintValue({ context, theme, font, type }: BoardPen, panel: CompletePanel, value: number, cell: Box) {
  const shown = panel.numbered ? numbering(panel, cell, type) : null;
  if (!shown) return;
  Object.assign(context, { font: `${shown.type}px ${font}`, textAlign: "center", textBaseline: "middle" });
  context.fillStyle = inkOn(blend(SCALES[theme][panel.scale], (value - panel.low) / (panel.high - panel.low || 1)));
  const text = fixed(value, shown.decimals);
  context.fillText(shown.bare ? bared(text) : text, cell.x + cell.width / 2, cell.y + cell.height / 2 + 0.5);
}

/** A number of at most 1 as it is written in a narrow cell, and not wider where it rounds to 1: .36, 1.0. */
const bared = (text: string) => text.replace(/^(−?)0/, "$1").replace(/1\.00$/, "1.0");
