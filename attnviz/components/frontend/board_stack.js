// A picture for a narrow screen: matrices that would stand side by side stand one below the other, with their numbers.

export const NARROW = 480; // px of a picture's width under which it is stacked
const SLIM = 2; // columns: what has no more stays beside the matrix that it belongs to
const MANY = 24; // rows of all matrices together from which on a stacked picture is higher than the window

/**
 * The picture with one matrix a row; `tall` says that it wants more than the window's height. Products stay as they
 * are.
 * @param {BoardPicture} picture @returns {BoardPicture & { tall: boolean }}
 */
export function stacked(picture) {
  const { grid, panels } = picture;
  if (grid.length !== 1 || grid[0].length < 2) return { ...picture, tall: grid.length > 2 };
  /** @type {number[][]} */
  const rows = [];
  for (const index of grid[0]) {
    if (index === null) continue;
    const above = rows.at(-1);
    if (above && panels[index].shape[1] <= SLIM) above.push(index);
    else rows.push([index]);
  }
  const columns = Math.max(...rows.map((row) => row.length));
  return {
    ...picture,
    // Without bars: the range stands above each matrix, and the room is for numbers.
    panels: panels.map((panel) => ({ ...panel, bar: false, numbered: true })),
    grid: rows.map((row) => Array.from({ length: columns }, (_, c) => row[c] ?? null)),
    widths: Array.from({ length: columns }, (_, c) => (c ? 0.1 : 1)),
    heights: rows.map(() => 1),
    tall: rows.reduce((sum, [first]) => sum + panels[first].shape[0], 0) > MANY,
  };
}
