// Positions of the picture's matrices: the panel at a point, and the box of a row, a column or a cell.
//
// A panel is one matrix of a board, or one Plotly heatmap: its name is the quantity, its meta says what its rows and
// columns are.

/** Where a matrix is that is not shown. */
const NOWHERE = axisOf(1e9, 0, [0, 1]);

/**
 * A board's matrices at their places, in the format of a Plotly graph; those that are away are nowhere.
 * @param {Place[]} places @param {CompletePanel[]} away
 * @param {{ view: (kind: string, count: number) => Span, covers: ((panel: string) => IsCovered | null) | null }} as
 * @returns {DrawnPanel[]}
 */
export function drawnPanels(places, away, { view, covers }) {
  /** @param {CompletePanel} panel */
  const known = ({ name, rows, cols, axes, z, shape: [height, width], parts }) => {
    return { name, rows, cols, axes, z, height, width, parts: parts?.width, covered: covers?.(name) ?? null };
  };
  const shown = places.map(({ panel, x, y, width, height, rowLabels, columnLabels, turned, labelRoom }) => ({
    ...known(panel),
    x: axisOf(x, width, view(panel.cols, panel.shape[1])),
    y: axisOf(y, height, view(panel.rows, panel.shape[0])),
    labelled: { rows: rowLabels, columns: columnLabels, turned, room: labelRoom.columns },
  }));
  return [...shown, ...away.map((panel) => ({ ...known(panel), x: NOWHERE, y: NOWHERE }))];
}

/**
 * The panels of a drawn picture, with what is needed to hit and to outline them.
 * @param {HTMLElement | null | undefined} graph @returns {DrawnPanel[]}
 */
export function readPanels(graph) {
  if (graph?.attnviz) return graph.attnviz.panels();
  const layout = graph?._fullLayout;
  if (!layout) return [];
  return (graph._fullData ?? [])
    .filter(
      ({ type, visible, z, xaxis, yaxis }) => type === "heatmap" && visible === true && z?.length && xaxis && yaxis,
    )
    .map((trace) => ({
      name: trace.name ?? "",
      rows: trace.meta?.rows ?? "",
      cols: trace.meta?.cols ?? "",
      z: trace.z,
      height: trace.z.length,
      width: trace.z[0].length,
      x: /** @type {Axis} */ (layout[trace.xaxis.replace("x", "xaxis")]),
      y: /** @type {Axis} */ (layout[trace.yaxis.replace("y", "yaxis")]),
    }))
    .filter(({ x, y }) => x?._length && y?._length);
}

/**
 * The result panel -> operands map of the figure.
 * @param {HTMLElement | null | undefined} graph @returns {Products}
 */
export function readProducts(graph) {
  if (graph?.attnviz) return graph.attnviz.products();
  return graph?._fullLayout?.meta?.products ?? {};
}

/**
 * The cell at a point of the graph (in its own pixels), or null.
 * @param {DrawnPanel[]} panels @param {number} left @param {number} top
 */
export function cellAt(panels, left, top) {
  for (const panel of panels) {
    const [x, y] = [left - panel.x._offset, top - panel.y._offset];
    if (x < 0 || y < 0 || x > panel.x._length || y > panel.y._length) continue;
    const j = Math.round(panel.x.p2l(x));
    const i = Math.round(panel.y.p2l(y));
    if (i >= 0 && j >= 0 && i < panel.height && j < panel.width) return cell(panel, i, j);
  }
  return null;
}

/** @param {DrawnPanel} panel @param {number} i @param {number} j @returns {Cell} */
export function cell(panel, i, j) {
  return { panel: panel.name, rows: panel.rows, cols: panel.cols, i, j };
}

/**
 * Whether a cell is still there after the picture was drawn anew.
 * @param {DrawnPanel[]} panels @param {Cell} at
 */
export function findPanel(panels, at) {
  const panel = panels.find(({ name, rows, cols }) => name === at.panel && rows === at.rows && cols === at.cols);
  return panel && at.i < panel.height && at.j < panel.width ? panel : null;
}

/**
 * The box of rows i0..i1 and columns j0..j1 in the graph's pixels, cut to what the zoom shows; null if nothing is.
 * @param {DrawnPanel} panel @param {Span} rows @param {Span} columns
 */
export function box(panel, [i0, i1], [j0, j1]) {
  const across = stretch(panel.x, j0, j1);
  const down = stretch(panel.y, i0, i1);
  return across && down && { x: across[0], y: down[0], width: across[1] - across[0], height: down[1] - down[0] };
}

/** @param {DrawnPanel} panel @param {number} i */
export const rowBox = (panel, i) => box(panel, [i, i], [0, panel.width - 1]);
/** @param {DrawnPanel} panel @param {number} j @param {number} last row */
export const columnBox = (panel, j, last = panel.height - 1) => box(panel, [0, last], [j, j]);
/** @param {DrawnPanel} panel @param {number} i @param {number} j */
export const cellBox = (panel, i, j) => box(panel, [i, i], [j, j]);

/** @param {Axis} axis @param {number} first @param {number} last */
function stretch(axis, first, last) {
  const ends = [axis.l2p(first - 0.5), axis.l2p(last + 0.5)].sort((a, b) => a - b);
  const [from, to] = ends.map((end) => Math.min(Math.max(end, 0), axis._length));
  return to > from ? [axis._offset + from, axis._offset + to] : null;
}

/**
 * What is lit for a cell: an index for each axis kind, and for the operands of a product their own row and column.
 * @param {LitCell} at @param {Products} products @returns {Lit}
 */
export function lit(at, products) {
  /** @type {Lit["kinds"]} */
  const kinds = {};
  if (at.cols) kinds[at.cols] = at.j;
  if (at.rows) kinds[at.rows] = at.i;
  const product = products[at.panel];
  const operands = product && "left" in product ? { left: product.left, right: product.right } : {};
  return { kinds, operands, at };
}

/**
 * The rows and columns of one panel that are lit.
 * @param {DrawnPanel} panel @param {Lit} meant
 */
export function litIn(panel, { kinds, operands, at }) {
  const own = panel.name === at?.panel && panel.rows === at.rows && panel.cols === at.cols;
  let row = kinds[panel.rows] ?? null;
  let column = kinds[panel.cols] ?? null;
  // In a square self-attention matrix of one kind only, both of its axes would take the same index.
  if (own && at) [row, column] = [at.i, at.j];
  else if (at && panel.name === operands.left) [row, column] = [at.i, null];
  else if (at && panel.name === operands.right) [row, column] = [null, at.j];
  return {
    row: row !== null && row < panel.height ? row : null,
    column: column !== null && column < panel.width ? column : null,
    own,
    // What the loop adds up: a column down to the row of its result.
    last: Math.min(at?.panel === "by_loop" && !own && at.i !== null ? at.i : Infinity, panel.height - 1),
  };
}

/**
 * An axis of a matrix that lies at `offset`, `length` px long, and shows the cells of a view.
 * @param {number} offset @param {number} length @param {Span} view @returns {Axis}
 */
export function axisOf(offset, length, [from, to]) {
  return {
    _offset: offset,
    _length: length,
    p2l: (pixel) => from + (pixel / length) * (to - from) - 0.5,
    l2p: (at) => ((at + 0.5 - from) / (to - from)) * length,
  };
}
