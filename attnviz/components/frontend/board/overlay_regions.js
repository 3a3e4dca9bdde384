// Outlines parts of matrices that are no row and no column: a whole matrix, hidden cells, the columns of a head.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 2.5; // px

export class Regions {
  /** @param {SVGElement} svg */
  constructor(svg) {
    this.root = svg.appendChild(document.createElementNS(SVG, "g"));
    /** @type {SVGPathElement[]} */
    this.paths = [];
    this.used = 0;
  }

  /** Begins anew: what is not drawn from here on is taken away by `end`. */
  begin() {
    this.used = 0;
  }

  /** @param {Region} region @param {string} colour */
  draw({ panel, isInside }, colour) {
    const cells = seenIn(panel);
    const shapes = [filled(cells, isInside), outlined(cells, panel, isInside)];
    if (!shapes[0]) return;
    for (const [n, d] of shapes.entries()) {
      const path = (this.paths[this.used] ??= this.root.appendChild(document.createElementNS(SVG, "path")));
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
      for (const [name, value] of Object.entries(attributes)) path.setAttribute(name, String(value));
    }
  }

  end() {
    for (const path of this.paths.slice(this.used)) {
      path.setAttribute("display", "none");
      path.dataset.state = "off";
    }
  }
}

/** @typedef {{ top: number, bottom: number, left: number, right: number, x: WhereIs, y: WhereIs }} Seen */
/** Where the border before a row or a column is, in px. @typedef {(at: number) => number} WhereIs */

/** The rows and columns of a matrix that its zoom shows, whole or in part. @param {DrawnPanel} panel @returns {Seen} */
function seenIn({ x, y, width, height }) {
  /** @type {(axis: Axis, count: number) => [number, number, WhereIs]} */
  const along = (axis, count) => {
    const [a, b] = [axis.p2l(0), axis.p2l(axis._length)].map((at) => Math.round(at)).sort((one, two) => one - two);
    const where = (/** @type {number} */ at) => axis._offset + Math.min(Math.max(axis.l2p(at - 0.5), 0), axis._length);
    return [Math.max(0, a), Math.min(count - 1, b), where];
  };
  const [left, right, whereX] = along(x, width);
  const [top, bottom, whereY] = along(y, height);
  return { left, right, top, bottom, x: whereX, y: whereY };
}

/** Runs of cells as closed shapes. @param {Seen} seen @param {IsCovered} isInside */
function filled({ top, bottom, left, right, x, y }, isInside) {
  const parts = [];
  for (let i = top; i <= bottom; i += 1) {
    for (const [from, to] of runs(left, right, (j) => isInside(i, j))) {
      parts.push(`M${x(from)} ${y(i)}H${x(to + 1)}V${y(i + 1)}H${x(from)}Z`);
    }
  }
  return parts.join("");
}

/**
 * Lines between cells inside and cells outside.
 * @param {Seen} seen @param {DrawnPanel} panel @param {IsCovered} isInside
 */
function outlined({ top, bottom, left, right, x, y }, { width, height }, isInside) {
  /** @type {IsCovered} */
  const is = (i, j) => i >= 0 && j >= 0 && i < height && j < width && isInside(i, j);
  const parts = [];
  for (let i = top; i <= bottom + 1; i += 1) {
    for (const [from, to] of runs(left, right, (j) => is(i - 1, j) !== is(i, j))) {
      parts.push(`M${x(from)} ${y(i)}H${x(to + 1)}`);
    }
  }
  for (let j = left; j <= right + 1; j += 1) {
    for (const [from, to] of runs(top, bottom, (i) => is(i, j - 1) !== is(i, j))) {
      parts.push(`M${x(j)} ${y(from)}V${y(to + 1)}`);
    }
  }
  return parts.join("");
}

/**
 * The runs [from, to] of places that are meant.
 * @param {number} first @param {number} last @param {(at: number) => boolean} is
 */
function runs(first, last, is) {
  const found = [];
  let from = -1;
  for (let at = first; at <= last + 1; at += 1) {
    const isOne = at <= last && is(at);
    if (isOne && from < 0) from = at;
    if (!isOne && from >= 0) {
      found.push([from, at - 1]);
      from = -1;
    }
  }
  return found;
}
