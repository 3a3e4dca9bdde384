// The order in which the cells of a matrix are filled: the example's row first, and in it the example's cell.

/** All of a matrix. @param {[number, number]} shape @returns {CellBox} */
export const whole = ([rows, columns]) => ({ row: 0, column: 0, rows, columns });

/** @param {number} row @param {number} column @returns {CellBox} */
export const cell = (row, column) => ({ row, column, rows: 1, columns: 1 });

/** @param {number} row @param {number} columns @returns {CellBox} */
export const rowOf = (row, columns) => ({ row, column: 0, rows: 1, columns });

/** @param {number} column @param {number} rows @returns {CellBox} */
export const columnOf = (column, rows) => ({ row: 0, column, rows, columns: 1 });

/** The positions 0 to count - 1, with one of them first. @param {number} count @param {number} first */
export function firstOf(count, first) {
  const others = Array.from({ length: count }, (_, n) => n).filter((n) => n !== first);
  return count ? [first, ...others] : [];
}

/**
 * The cells that are not filled yet, in few boxes: all but those of the rows `done`, and of the row `now` those of the
 * columns `filled`.
 * @param {[number, number]} shape @param {Iterable<number>} done @param {number | null} now
 * @param {Iterable<number>} filled @returns {CellBox[]}
 */
export function blankCells([rows, columns], done, now = null, filled = []) {
  const there = new Set(done);
  const isOpen = (/** @type {number} */ row) => row !== now && !there.has(row);
  const boxes = runs(rows, isOpen).map(([row, count]) => ({ row, column: 0, rows: count, columns }));
  if (now === null || there.has(now)) return boxes;
  const own = new Set(filled);
  const open = runs(columns, (column) => !own.has(column));
  return [...boxes, ...open.map(([column, count]) => ({ row: now, column, rows: 1, columns: count }))];
}

/**
 * [first, count] of each run of positions that are meant.
 * @param {number} count @param {(at: number) => boolean} isMeant @returns {[number, number][]}
 */
function runs(count, isMeant) {
  /** @type {[number, number][]} */
  const found = [];
  for (let at = 0; at < count; at += 1) {
    if (!isMeant(at)) continue;
    const last = found.at(-1);
    if (last && last[0] + last[1] === at) last[1] += 1;
    else found.push([at, 1]);
  }
  return found;
}
