// What a word names in a drawn picture, and whether that is what is lit there.

import { isByCell } from "../board/panel.ts";

/** Nothing is lit. */
export const DARK: LitNow = { panels: [], hovered: null, pinned: { query: null, key: null } };

/** Parts that would give away what is covered. */
const ENDS = ["largest", "smallest"];

/** What a target names in these matrices. Of a row that is covered, the row and no cell. */
export function namedIn(target: PictureTarget, panels: DrawnPanel[]): Named {
  const { row, column, matrix, part, head } = target;
  const shown = panels.filter(({ name }) => !matrix || name === matrix);
  const kinds = { query: row, key: isCoveredCell(panels, row, column) ? null : column };
  if (ENDS.includes(part)) return { kinds: NONE, matrix, regions: shown.flatMap((panel) => endOf(panel, target)) };
  if (part) return { kinds: NONE, matrix, regions: shown.flatMap((panel) => partOf(panel, part)) };
  if (head !== null) return { kinds: NONE, matrix, regions: shown.flatMap((panel) => columnsOf(panel, head)) };
  const isWhole = row === null && column === null;
  return { kinds, matrix, regions: isWhole ? shown.map(whole) : [] };
}

const whole = (panel: DrawnPanel): Region => ({ panel, rows: [0, panel.height - 1], columns: [0, panel.width - 1] });

/** Whether a picture has what a target names; one that is changing, or has no matrices, may. */
export function isShown({ matrix, part, head }: PictureTarget, panels: DrawnPanel[]) {
  const shown = panels.filter(({ name }) => !matrix || name === matrix);
  const has = (panel: DrawnPanel) => (!part || isByCell(panel)) && (head === null || panel.parts !== undefined);
  return !panels.length || shown.some(has);
}

/** One of the heads of all layers. */
export const headOf = ({ layer, head }: PictureTarget): HeadId | null =>
  layer === null || head === null ? null : [layer, head];

/** Whether a target is the head that is shown. */
export const isChosen = (target: PictureTarget, { chosen = null }: LitNow) =>
  chosen !== null && headOf(target)?.join() === chosen.join();

const NONE: Named["kinds"] = { query: null, key: null };

function isCoveredCell(panels: DrawnPanel[], q: number | null, k: number | null) {
  return q !== null && k !== null && panels.some((panel) => isByCell(panel) && panel.covered?.(q, k));
}

function partOf(panel: DrawnPanel, part: string): Region[] {
  if (!isByCell(panel)) return [];
  if (part === "diagonal") return [{ ...whole(panel), isInside: (i, j) => i === j }];
  return [{ ...whole(panel), isInside: (i, j) => !Number.isFinite(panel.z[i][j]) }]; // NaN on a board, null on a chart
}

/** The cell with the largest or the smallest number. */
function endOf(panel: DrawnPanel, target: PictureTarget): Region[] {
  const found = isByCell(panel) ? extreme(panel, target) : null;
  return found ? [{ panel, rows: [found[0], found[0]], columns: [found[1], found[1]] }] : [];
}

/** The columns of a head, where heads stand side by side. */
function columnsOf(panel: DrawnPanel, head: number): Region[] {
  const { parts } = panel;
  return parts ? [{ ...whole(panel), columns: [head * parts, (head + 1) * parts - 1] }] : [];
}

/** The place of the largest or the smallest number, of a row or of all; null where any of it is covered. */
function extreme({ z, height, width, covered }: DrawnPanel, { row, part }: PictureTarget) {
  const sign = part === "largest" ? 1 : -1;
  let found: [number, number] | null = null;
  for (let i = row ?? 0; i < (row === null ? height : Math.min(row + 1, height)); i += 1) {
    for (let j = 0; j < width; j += 1) {
      if (covered?.(i, j)) return null;
      if (sign * z[i][j] > (found ? sign * z[found[0]][found[1]] : -Infinity)) found = [i, j];
    }
  }
  return found;
}

/** Whether a word names what is pointed at, or what is pinned. */
export function litBy(target: Target, lit: LitNow): "pointer" | "pin" | null {
  const isPlace = (target.row !== null || target.column !== null) && !target.part;
  if (isPlace && (isElsewhere(target, lit) || isCoveredCell(lit.panels, target.row, target.column))) return null;
  if (isPointedAt(target, lit, isPlace)) return "pointer";
  return isPlace ? (meets(target, lit.pinned) ? "pin" : null) : isChosen(target, lit) ? "pin" : null;
}

/** Whether a place is one of another head than the one that is shown, or of another step of a training. */
export const isElsewhere = (target: Target, lit: LitNow) =>
  target.step !== null || (headOf(target) !== null && !isChosen(target, lit));

function isPointedAt(target: Target, { panels, hovered, head: pointed = null }: LitNow, isPlace: boolean) {
  const { matrix, layer, head } = target;
  if (target.item) return false;
  if (pointed && layer === pointed[0] && head === pointed[1]) return true;
  if (!hovered || (matrix && hovered.panel !== matrix)) return false;
  if (isPlace) return meets(target, kindsOf(hovered));
  const panel = panels.find(({ name }) => name === hovered.panel);
  const { i, j } = hovered;
  if (!panel || i === null || j === null) return false;
  return namedIn(target, [panel]).regions.some(
    ({ rows, columns, isInside = () => true }) => isIn(i, rows) && isIn(j, columns) && isInside(i, j),
  );
}

const isIn = (at: number, [first, last]: Span) => at >= first && at <= last;

const meets = ({ row, column }: Target, { query = null, key = null }: Record<string, number | null>) =>
  (row === null || row === query) && (column === null || column === key);

const kindsOf = ({ rows, cols, i, j }: LitCell): Record<string, number | null> => ({ [cols]: j, [rows]: i });
