// How several matrices stand side by side: in the grid in which their cells are largest.

export const NARROW = 480; // px of width under which matrices stand one below the other
const MANY = 5; // matrices: of more, two stand side by side on a narrow screen
const CELL = { width: 20, height: 12 }; // the proportions of a cell that holds a number
const AROUND = { width: 110, height: 90, gap: 18, title: 38 }; // px: labels, and what each matrix takes besides cells

/** Where matrices stand, by their numbers, row by row; the first row may have gaps. */
export function gridOf(shapes: [rows: number, columns: number][], size: Size): (number | null)[][] {
  const count = shapes.length;
  const [first] = shapes;
  const areAlike = shapes.every(([rows, columns]) => rows === first[0] && columns === first[1]);
  if (size.width < NARROW) return filled(count, areAlike && count > MANY ? 2 : 1);
  if (!areAlike) return filled(count, count);
  let best = { columns: count, scale: 0 };
  for (let rows = 1; rows <= count; rows += 1) {
    const columns = Math.ceil(count / rows);
    const scale = scaleOf(first, size, columns, rows);
    if (scale > best.scale) best = { columns, scale };
  }
  return filled(count, best.columns);
}

/** How large cells are, as a multiple of one that holds a number. */
function scaleOf([rows, columns]: [number, number], { width, height }: Size, across: number, down: number) {
  const wide = (width - AROUND.width) / across - AROUND.gap;
  const high = (height - AROUND.height) / down - AROUND.title;
  return Math.min(wide / columns / CELL.width, high / rows / CELL.height);
}

function filled(count: number, columns: number) {
  const rows = Math.ceil(count / columns);
  const inFirst = count - (rows - 1) * columns;
  // With gaps in the first row, all labels of columns are under the last one.
  const first = Array.from({ length: columns }, (_, n) => (n < inFirst ? n : null));
  const others = Array.from({ length: rows - 1 }, (_, row) =>
    Array.from({ length: columns }, (__, n) => inFirst + row * columns + n),
  );
  return [first, ...others];
}
