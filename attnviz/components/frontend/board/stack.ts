// The layout for narrow screens: matrices one below the other instead of side by side.

export const NARROW = 480; // px of a picture's width under which it is stacked
const SLIM = 2; // columns: what has no more stays beside the matrix that it belongs to
const MANY = 14; // rows of all matrices together from which on a stacked picture is higher than the window

/**
 * The picture with one matrix per row, the result, which has the colour bar, above its operands; `tall` is whether it
 * needs more than the window's height. Products are not changed.
 */
export function stacked(picture: BoardPicture): BoardPicture & { tall: boolean } {
  const { grid, panels } = picture;
  if (grid.length !== 1 || grid[0].length < 2) return { ...picture, narrow: true, tall: grid.length > 2 };
  const rows: number[][] = [];
  for (const index of grid[0]) {
    if (index === null) continue;
    const above = rows.at(-1);
    if (above && panels[index].shape[1] <= SLIM) above.push(index);
    else rows.push([index]);
  }
  const result = rows.findIndex(([first]) => panels[first].bar);
  if (result > 0) rows.unshift(...rows.splice(result, 1));
  const columns = Math.max(...rows.map((row) => row.length));
  return {
    ...picture,
    // Without colour bars: the range is above each matrix, and numbers need the space.
    panels: panels.map((panel) => ({ ...panel, bar: false })),
    grid: rows.map((row) => Array.from({ length: columns }, (_, c) => row[c] ?? null)),
    widths: Array.from({ length: columns }, (_, c) => (c ? 0.1 : 1)),
    heights: rows.map(() => 1),
    apart: true,
    tall: rows.reduce((sum, [first]) => sum + panels[first].shape[0], 0) > MANY,
  };
}
