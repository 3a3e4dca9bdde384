// What a word names in a drawn picture, and whether that is what is lit there.

/** Nothing is lit. @type {LitNow} */
export const DARK = { panels: [], hovered: null, pinned: { query: null, key: null } };

/** Parts that would give away what is covered. */
const ENDS = ["largest", "smallest"];

/**
 * What a target names in these matrices. Of a row that is covered, the row and no cell.
 * @param {Target} target @param {DrawnPanel[]} panels @returns {Named}
 */
export function namedIn(target, panels) {
  const { row, column, matrix, part, head } = target;
  const shown = panels.filter(({ name }) => !matrix || name === matrix);
  const kinds = { query: row, key: isCoveredCell(panels, row, column) ? null : column };
  if (ENDS.includes(part)) return { kinds: NONE, matrix, regions: shown.flatMap((panel) => endOf(panel, target)) };
  if (part) return { kinds: NONE, matrix, regions: shown.flatMap((panel) => partOf(panel, part)) };
  if (head !== null) return { kinds: NONE, matrix, regions: shown.flatMap((panel) => columnsOf(panel, head)) };
  const isWhole = row === null && column === null;
  return { kinds, matrix, regions: isWhole ? shown.map(whole) : [] };
}

/** @param {DrawnPanel} panel @returns {Region} */
const whole = (panel) => ({ panel, rows: [0, panel.height - 1], columns: [0, panel.width - 1] });

/**
 * Whether a picture has what a target names; one that is changing, or has no matrices, may.
 * @param {Target} target @param {DrawnPanel[]} panels
 */
export function isShown({ matrix, part, head }, panels) {
  const shown = panels.filter(({ name }) => !matrix || name === matrix);
  const has = (/** @type {DrawnPanel} */ panel) =>
    (!part || isByCell(panel)) && (head === null || panel.parts !== undefined);
  return !panels.length || shown.some(has);
}

/** One of the heads of all layers. @param {Target} target @returns {HeadId | null} */
export const headOf = ({ layer, head }) => (layer === null || head === null ? null : [layer, head]);

/** Whether a target is the head that is shown. @param {Target} target @param {LitNow} lit */
export const isChosen = (target, { chosen = null }) => chosen !== null && headOf(target)?.join() === chosen.join();

/** @type {Named["kinds"]} */
const NONE = { query: null, key: null };

/** @param {DrawnPanel[]} panels @param {number | null} q @param {number | null} k */
function isCoveredCell(panels, q, k) {
  return q !== null && k !== null && panels.some(({ covered }) => covered?.(q, k));
}

/** @param {DrawnPanel} panel @param {string} part @returns {Region[]} */
function partOf(panel, part) {
  if (!isByCell(panel)) return [];
  if (part === "diagonal") return [{ ...whole(panel), isInside: (i, j) => i === j }];
  return [{ ...whole(panel), isInside: (i, j) => !Number.isFinite(panel.z[i][j]) }]; // NaN on a board, null on a chart
}

/**
 * The cell with the largest or the smallest number.
 * @param {DrawnPanel} panel @param {Target} target @returns {Region[]}
 */
function endOf(panel, target) {
  const found = isByCell(panel) ? extreme(panel, target) : null;
  return found ? [{ panel, rows: [found[0], found[0]], columns: [found[1], found[1]] }] : [];
}

/**
 * The columns of a head, where heads stand side by side.
 * @param {DrawnPanel} panel @param {number} head @returns {Region[]}
 */
function columnsOf(panel, head) {
  const { parts } = panel;
  return parts ? [{ ...whole(panel), columns: [head * parts, (head + 1) * parts - 1] }] : [];
}

/** @param {DrawnPanel} panel */
const isByCell = ({ rows, cols }) => rows === "query" && cols === "key";

/**
 * The place of the largest or the smallest number, of a row or of all; null where any of it is covered.
 * @param {DrawnPanel} panel @param {Target} target
 */
function extreme({ z, height, width, covered }, { row, part }) {
  const sign = part === "largest" ? 1 : -1;
  /** @type {[number, number] | null} */
  let found = null;
  for (let i = row ?? 0; i < (row === null ? height : Math.min(row + 1, height)); i += 1) {
    for (let j = 0; j < width; j += 1) {
      if (covered?.(i, j)) return null;
      if (sign * z[i][j] > (found ? sign * z[found[0]][found[1]] : -Infinity)) found = [i, j];
    }
  }
  return found;
}

/**
 * Whether a word names what is pointed at, or what is pinned.
 * @param {Target} target @param {LitNow} lit @returns {"pointer" | "pin" | null}
 */
export function litBy(target, lit) {
  const isPlace = (target.row !== null || target.column !== null) && !target.part;
  if (isPlace && isCoveredCell(lit.panels, target.row, target.column)) return null;
  if (isPointedAt(target, lit, isPlace)) return "pointer";
  return (isPlace && meets(target, lit.pinned)) || isChosen(target, lit) ? "pin" : null;
}

/** @param {Target} target @param {LitNow} lit @param {boolean} isPlace */
function isPointedAt(target, { panels, hovered, head: pointed = null }, isPlace) {
  const { matrix, layer, head } = target;
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

/** @param {number} at @param {Span} ends */
const isIn = (at, [first, last]) => at >= first && at <= last;

/** @param {Target} target @param {Record<string, number | null>} kinds */
const meets = ({ row, column }, { query = null, key = null }) =>
  (row === null || row === query) && (column === null || column === key);

/** @param {LitCell} at @returns {Record<string, number | null>} */
const kindsOf = ({ rows, cols, i, j }) => ({ [cols]: j, [rows]: i });
