// Writes the labels of a matrix's rows and columns, and the names of its axes.

import { labelText, shorten, spaced, ticks, TURN } from "./layout.ts";
import { INK, TEXT_INK } from "../core/colours.ts";
import { axisName, rowKind } from "./panel.ts";

/** The word of it that is written where the whole name has no room: "from", "to", "D". */
export const briefName = (name: string) => (name.split(" ").at(-1) ?? "").replace(/[()]/g, "");

const SMALLEST = 9; // px of type, where there is no least one
const LINE = 0.96; // of the type: lines that are as far apart do not touch

export function paintRowLabels(
  { context, theme, font, type, labels, always, written }: BoardPen,
  { panel, x, y, height, labelRoom, rowNames }: Place,
  { from, to, cell }: CellWindow,
) {
  const tokens = labels[panel.rows];
  const size = Math.max(SMALLEST, type.least, Math.min(type.label, cell.height * 1.05));
  const { shown, every } = ticks(
    from.row,
    Math.min(to.row, panel.shape[0]),
    cell.height,
    Math.max(tokens ? 11 : 12, type.least),
    always[panel.rows],
  );
  context.font = `${size}px ${font}`;
  context.fillStyle = INK[theme].text;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const widthOf: WidthOf = (text) => context.measureText(text).width;
  for (const i of rowNames ? shown : []) {
    const middle = y + (i + 0.5 - from.row) * cell.height;
    if (middle < y - 1 || middle > y + height + 1) continue;
    const text = tokens ? shorten(labelText(tokens, i, every), labelRoom.rows, widthOf) : String(i);
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
  const looks = { font, type, ink: TEXT_INK[theme], kind: panel.axes ? "text" : rowKind(panel) };
  context.font = `${type.label}px ${font}`;
  const title = panel.axes?.[0] ?? axisTitle(rowKind(panel), height + 60, widthOf);
  const box = paintAxisTitle(context, title, looks, (width) => {
    const left = !rowNames
      ? 0
      : tokens
        ? Math.min(labelRoom.rows, Math.max(10, ...shown.map((i) => widthOf(labelText(tokens, i, every))))) + 8
        : 22 * type.unit;
    return { x: x - left - 8 * type.unit, y: y + height / 2, turn: -Math.PI / 2, fits: width <= height + 60 };
  });
  if (box) written.push({ panel: panel.name, side: "rows", ...box });
}

export function paintColumnLabels(
  { context, theme, font, type, labels, always, written }: BoardPen,
  { panel, x, y, width, height, titleRoom, labelRoom }: Place,
  { from, to, cell }: CellWindow,
) {
  const tokens = labels[panel.cols];
  const last = Math.min(to.column, panel.shape[1]);
  const longest = labelRoom.columns;
  context.font = `${type.label}px ${font}`;
  context.fillStyle = INK[theme].text;
  const widthOf: WidthOf = (text) => context.measureText(text).width;
  const named: [number, string][] | null = panel.ticks
    ? Object.entries(panel.ticks).map(([j, text]) => [Number(j), text])
    : null;
  const room = cell.width - 4;
  const turned = Boolean(tokens) && longest > room && (room < 10 || tokens.some((token) => widthOf(token) > room));
  const needed = Math.max(tokens ? 11 : 22 * type.unit, turned ? leastApart(type) : type.least);
  const { shown, every } = ticks(from.column, last, cell.width, needed, always[panel.cols]);
  const size = turned ? turnedType(shown, cell.width, type) : type.label;
  context.font = `${size}px ${font}`;
  const fitting = named && spaced(named, cell.width, widthOf);
  const texts: [number, string][] = fitting ?? shown.map((j) => [j, tokens ? labelText(tokens, j, every) : String(j)]);
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
    const wide = widthOf(short);
    const box: BoxNumbers = turned
      ? [-wide, -0.6 * size, wide, 1.2 * size]
      : [-wide / 2, -0.9 * size, wide, 1.2 * size];
    written.push({ panel: panel.name, side: "columns", x: middle, y: foot, turn, box });
    if (turned) deepest = Math.max(deepest, wide * Math.sin(TURN) + 8);
  }
  context.font = `${type.label}px ${font}`;
  const title = panel.axes?.[1] ?? axisTitle(panel.cols, titleRoom.axis, widthOf);
  const looks = { font, type, ink: TEXT_INK[theme], kind: panel.axes ? "text" : panel.cols };
  const box = paintAxisTitle(context, title, looks, (wide) => ({
    x: x + Math.max(width, Math.min(wide, 60)) / 2,
    y: y + height + deepest + 12 * type.unit,
    turn: 0,
    fits: true,
  }));
  if (box) written.push({ panel: panel.name, side: "columns", ...box });
}

/** How many px of an axis turned labels of the smallest type need. */
const leastApart = ({ least }: TypeSizes) => (Math.max(SMALLEST, least) * LINE) / Math.sin(TURN);

/** The largest type in which turned labels at these columns do not touch. */
function turnedType(shown: number[], cell: number, { least, label }: TypeSizes) {
  const apart = Math.min(...shown.slice(1).map((j, n) => j - shown[n])) * cell;
  return Math.max(SMALLEST, least, Math.min(label, (apart * Math.sin(TURN)) / LINE));
}

/** What is written beside the rows or under the columns of a kind: its name, or where there is no room, one word. */
export function axisTitle(kind: string, room: number, widthOf: WidthOf) {
  const title = axisName(kind);
  return !title || widthOf(title) <= room ? title : briefName(title);
}

/** Returns the box that the title takes, upright, or null where it is left out. */
function paintAxisTitle(
  context: Canvas2D,
  text: string | undefined,
  { font, type, ink, kind }: { font: string; type: TypeSizes; ink: Record<string, string>; kind: string },
  where: (width: number) => { x: number; y: number; turn: number; fits: boolean },
): Pick<WrittenLabel, "x" | "y" | "turn" | "box"> | null {
  if (!text) return null;
  context.save();
  context.font = `${type.label}px ${font}`;
  context.fillStyle = ink[kind] ?? ink.text;
  const { width } = context.measureText(text);
  const { x, y, turn, fits } = where(width);
  if (fits) {
    context.translate(x, y);
    context.rotate(turn);
    context.textAlign = "center";
    context.textBaseline = turn ? "alphabetic" : "middle";
    context.fillText(text, 0, 0);
  }
  context.restore();
  const high = 1.2 * type.label;
  return fits
    ? { x, y, turn: 0, box: turn ? [-high, -width / 2, 1.25 * high, width] : [-width / 2, -high / 2, width, high] }
    : null;
}
