// The order in which the cells of a matrix are filled: the example's row first, and in it the example's cell.

/** All of a matrix. */
export const whole = ([rows, columns]: [number, number]): CellBox => ({ row: 0, column: 0, rows, columns });

export const cell = (row: number, column: number): CellBox => ({ row, column, rows: 1, columns: 1 });

export const rowOf = (row: number, columns: number): CellBox => ({ row, column: 0, rows: 1, columns });

export const columnOf = (column: number, rows: number): CellBox => ({ row: 0, column, rows, columns: 1 });

/** The positions 0 to count - 1, with one of them first. */
export function firstOf(count: number, first: number) {
  const others = Array.from({ length: count }, (_, n) => n).filter((n) => n !== first);
  return count ? [first, ...others] : [];
}

/**
 * The cells that are not filled yet, in few boxes: all but those of the rows `done`, and of the row `now` those of the
 * columns `filled`.
 */
export function blankCells(
  [rows, columns]: [number, number],
  done: Iterable<number>,
  now: number | null = null,
  filled: Iterable<number> = [],
): CellBox[] {
  const there = new Set(done);
  const isOpen = (row: number) => row !== now && !there.has(row);
  const boxes = runs(rows, isOpen).map(([row, count]) => ({ row, column: 0, rows: count, columns }));
  if (now === null || there.has(now)) return boxes;
  const own = new Set(filled);
  const open = runs(columns, (column) => !own.has(column));
  return [...boxes, ...open.map(([column, count]) => ({ row: now, column, rows: 1, columns: count }))];
}

/** [first, count] of each run of positions that are meant. */
function runs(count: number, isMeant: (at: number) => boolean): [number, number][] {
  const found: [number, number][] = [];
  for (let at = 0; at < count; at += 1) {
    if (!isMeant(at)) continue;
    const last = found.at(-1);
    if (last && last[0] + last[1] === at) last[1] += 1;
    else found.push([at, 1]);
  }
  return found;
}
