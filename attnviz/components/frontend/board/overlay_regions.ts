// Outlines parts of matrices that are no row and no column: a whole matrix, hidden cells, the columns of a head.

import { setAttributes, svgElement } from "../core/dom.ts";

const WIDTH = 2.5; // px

export class Regions {
  root: SVGGElement;
  paths: SVGPathElement[] = [];
  used = 0;

  constructor(svg: SVGElement) {
    this.root = svg.appendChild(svgElement("g"));
  }

  /** Begins anew: what is not drawn from here on is taken away by `end`. */
  begin() {
    this.used = 0;
  }

  draw(region: Region, colour: string) {
    const { panel } = region;
    const shapes = pathsOf(region) ?? [];
    for (const [n, d] of shapes.entries()) {
      const path = (this.paths[this.used] ??= this.root.appendChild(svgElement("path")));
      this.used += 1;
      const attributes = {
        d,
        display: "inline",
        fill: n === 0 ? colour : "none",
        "fill-opacity": 0.07,
        stroke: n === 0 ? "none" : colour,
        "stroke-width": WIDTH,
        "stroke-linecap": "square",
        "data-panel": panel.name,
        "data-shape": n === 0 ? "region" : "region-edge",
        "data-state": "hovered",
      };
      setAttributes(path, attributes);
    }
  }

  end() {
    for (const path of this.paths.slice(this.used)) {
      path.setAttribute("display", "none");
      path.dataset.state = "off";
    }
  }
}

export type Seen = { top: number; bottom: number; left: number; right: number; x: WhereIs; y: WhereIs };
/** Where the border before a row or a column is, in px. */
export type WhereIs = (at: number) => number;

/** The rows and columns of a region that the matrix's zoom shows, whole or in part. */
function seenIn({ panel, rows, columns }: Region): Seen {
  const along: (axis: Axis, span: Span) => [number, number, WhereIs] = (axis, [first, last]) => {
    const [a, b] = [axis.p2l(0), axis.p2l(axis._length)].map((at) => Math.round(at)).sort((one, two) => one - two);
    const where = (at: number) => axis._offset + Math.min(Math.max(axis.l2p(at - 0.5), 0), axis._length);
    return [Math.max(first, a), Math.min(last, b), where];
  };
  const [left, right, whereX] = along(panel.x, columns);
  const [top, bottom, whereY] = along(panel.y, rows);
  return { left, right, top, bottom, x: whereX, y: whereY };
}

/** 1 for each cell that is the region's, in rows of `width`, with a border of cells that are not around it. */
function cellsOf({ top, bottom, left, right }: Seen, isInside: IsCovered) {
  const width = right - left + 3;
  const cells = new Uint8Array(width * (bottom - top + 3));
  for (let i = top; i <= bottom; i += 1) {
    const row = (i - top + 1) * width + 1 - left;
    for (let j = left; j <= right; j += 1) if (isInside(i, j)) cells[row + j] = 1;
  }
  return { cells, width };
}

/** Two paths: runs of cells as closed shapes, and the lines between them and all others. */
function pathsOf(region: Region) {
  const seen = seenIn(region);
  const { top, bottom, left, right, x, y } = seen;
  if (right < left || bottom < top) return null;
  if (!region.isInside) {
    const whole = `M${x(left)} ${y(top)}H${x(right + 1)}V${y(bottom + 1)}H${x(left)}Z`;
    return [whole, whole];
  }
  const { cells, width } = cellsOf(seen, region.isInside);
  const [rows, columns] = [bottom - top + 1, right - left + 1];
  const shapes: string[] = [];
  const lines: string[] = [];
  for (let i = 0; i <= rows; i += 1) {
    const [above, here] = [i * width + 1, (i + 1) * width + 1];
    for (const [from, to] of runs(columns, (j) => cells[here + j])) {
      shapes.push(`M${x(left + from)} ${y(top + i)}H${x(left + to + 1)}V${y(top + i + 1)}H${x(left + from)}Z`);
    }
    for (const [from, to] of runs(columns, (j) => cells[above + j] ^ cells[here + j])) {
      lines.push(`M${x(left + from)} ${y(top + i)}H${x(left + to + 1)}`);
    }
  }
  for (let j = 0; j <= columns; j += 1) {
    for (const [from, to] of runs(rows, (i) => cells[(i + 1) * width + j] ^ cells[(i + 1) * width + j + 1])) {
      lines.push(`M${x(left + j)} ${y(top + from)}V${y(top + to + 1)}`);
    }
  }
  return shapes.length ? [shapes.join(""), lines.join("")] : null;
}

/** The runs [from, to] of places that are meant. */
function runs(count: number, isOne: (at: number) => number) {
  const found = [];
  let from = -1;
  for (let at = 0; at < count; at += 1) {
    if (isOne(at)) {
      if (from < 0) from = at;
    } else if (from >= 0) {
      found.push([from, at - 1]);
      from = -1;
    }
  }
  if (from >= 0) found.push([from, count - 1]);
  return found;
}
