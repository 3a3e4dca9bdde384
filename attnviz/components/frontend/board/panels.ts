// Positions of the picture's matrices: the panel at a point, and the box of a row, a column or a cell.
//
// A panel is one matrix of a board, or one Plotly heatmap: its name is the quantity, its meta says what its rows and
// columns are.

/** Where a matrix is that is not shown. */
const NOWHERE = axisOf(1e9, 0, [0, 1]);

/** A board's matrices at their places, in the format of a Plotly graph; those that are away are nowhere. */
export function drawnPanels(
  places: Place[],
  away: CompletePanel[],
  {
    view,
    covers,
  }: { view: (kind: string, count: number) => Span; covers: ((panel: string) => IsCovered | null) | null },
): DrawnPanel[] {
  const known = ({ name, rows, cols, axes, z, shape: [height, width], parts }: CompletePanel) => {
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

/** The panels of a drawn picture, with what is needed to hit and to outline them. */
export function readPanels(graph: HTMLElement | null | undefined): DrawnPanel[] {
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
      ...(trace.meta?.reasons && { reasons: trace.meta.reasons }),
      z: trace.z,
      height: trace.z.length,
      width: trace.z[0].length,
      x: layout[trace.xaxis.replace("x", "xaxis")] as Axis,
      y: layout[trace.yaxis.replace("y", "yaxis")] as Axis,
    }))
    .filter(({ x, y }) => x?._length && y?._length);
}

/** The result panel -> operands map of the figure. */
export function readProducts(graph: HTMLElement | null | undefined): Products {
  if (graph?.attnviz) return graph.attnviz.products();
  return graph?._fullLayout?.meta?.products ?? {};
}

/** The cell at a point of the graph (in its own pixels), or null. */
export function cellAt(panels: DrawnPanel[], left: number, top: number) {
  for (const panel of panels) {
    const [x, y] = [left - panel.x._offset, top - panel.y._offset];
    if (x < 0 || y < 0 || x > panel.x._length || y > panel.y._length) continue;
    const j = Math.round(panel.x.p2l(x));
    const i = Math.round(panel.y.p2l(y));
    if (i >= 0 && j >= 0 && i < panel.height && j < panel.width) return cell(panel, i, j);
  }
  return null;
}

export function cell(panel: DrawnPanel, i: number, j: number): Cell {
  return { panel: panel.name, rows: panel.rows, cols: panel.cols, i, j };
}

/** Whether a cell is still there after the picture was drawn anew. */
export function findPanel(panels: DrawnPanel[], at: Cell) {
  const panel = panels.find(({ name, rows, cols }) => name === at.panel && rows === at.rows && cols === at.cols);
  return panel && at.i < panel.height && at.j < panel.width ? panel : null;
}

/**
 * The box of rows i0..i1 and columns j0..j1 in the graph's pixels, cut to what the zoom shows; null if nothing is.
 */
export function box(panel: DrawnPanel, [i0, i1]: Span, [j0, j1]: Span) {
  const across = stretch(panel.x, j0, j1);
  const down = stretch(panel.y, i0, i1);
  return across && down && { x: across[0], y: down[0], width: across[1] - across[0], height: down[1] - down[0] };
}

export const rowBox = (panel: DrawnPanel, i: number) => box(panel, [i, i], [0, panel.width - 1]);
/** @param last row */
export const columnBox = (panel: DrawnPanel, j: number, last: number = panel.height - 1) =>
  box(panel, [0, last], [j, j]);
export const cellBox = (panel: DrawnPanel, i: number, j: number) => box(panel, [i, i], [j, j]);

function stretch(axis: Axis, first: number, last: number) {
  const ends = [axis.l2p(first - 0.5), axis.l2p(last + 0.5)].sort((a, b) => a - b);
  const [from, to] = ends.map((end) => Math.min(Math.max(end, 0), axis._length));
  return to > from ? [axis._offset + from, axis._offset + to] : null;
}

/**
 * What is lit for a cell: an index for each axis kind, and for the operands of a product their own row and column.
 */
export function lit(at: LitCell, products: Products): Lit {
  const kinds: Lit["kinds"] = {};
  if (at.cols) kinds[at.cols] = at.j;
  if (at.rows) kinds[at.rows] = at.i;
  const product = products[at.panel];
  const operands = product && "left" in product ? { left: product.left, right: product.right } : {};
  return { kinds, operands, at };
}

/** The rows and columns of one panel that are lit. */
export function litIn(panel: DrawnPanel, { kinds, operands, at }: Lit) {
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

/** An axis of a matrix that lies at `offset`, `length` px long, and shows the cells of a view. */
export function axisOf(offset: number, length: number, [from, to]: Span): Axis {
  return {
    _offset: offset,
    _length: length,
    p2l: (pixel) => from + (pixel / length) * (to - from) - 0.5,
    l2p: (at) => ((at + 0.5 - from) / (to - from)) * length,
  };
}
