// The attention of a training's heads at a snapshot: small heatmaps of all, and the chosen one large.

import { Board } from "../board/board.js";
import { INK } from "../core/colours.js";
import { element } from "../core/dom.js";
import { Grid } from "../grid/grid.js";
import { poolHidden, poolWeights } from "../grid/pool.js";
import { kindName, percent, placeName } from "./words.js";

const FULL = 65535; // the level of a weight of 1
const SIDE = { one: 96, several: 56 }; // px: the largest small heatmap, of one kind of attention or of several

/**
 * @typedef {object} Given
 * @property {TrainingKind[]} kinds
 * @property {TrainingMoment} moment
 * @property {HeadPlace} place of the head that is shown large
 * @property {string} alt
 * @property {Pair} pin
 * @property {number | null} [covered] a row that is to be guessed
 * @property {Theme} theme
 * @property {number[] | null} without the accuracy without each head, in the order of all heads; the last is with all
 */

/**
 * @typedef {object} Does
 * @property {(place: HeadPlace) => void} onWatch
 * @property {(at: Pair) => void} onPoint
 * @property {(at: Pair) => void} onPin
 * @property {() => void} [onReveal]
 */

export class Heads {
  /**
   * @param {{ small: HTMLElement, large: HTMLElement }} rooms
   * @param {Does} does
   */
  constructor({ small, large }, { onWatch, onPoint, onPin, onReveal }) {
    this.small = small;
    this.onWatch = onWatch;
    /** @type {{ kind: string, grid: Grid, room: HTMLElement }[]} */
    this.grids = [];
    /** @type {{ kinds: TrainingKind[] | null, key: string, board: string }} */
    this.made = { kinds: null, key: "", board: "" };
    this.weights = new Float32Array(0);
    /** @type {TrainingKind | null} */
    this.kind = null;
    /** @type {Pair} */
    this.hovered = { q: null, k: null };
    /** @type {number | null} */
    this.covered = null;
    this.board = new Board(large, {
      onPoint: (at) => {
        this.hovered = { q: at?.i ?? null, k: at?.j ?? null };
        onPoint(this.hovered);
      },
      onClick: ({ i, j }) => onPin({ q: i, k: j }),
      onMove: ({ query, key }) => onPin({ q: query, k: key }),
    });
    this.board.uncover = ({ i }) => {
      if (i !== this.covered) return false;
      onReveal?.();
      return true;
    };
  }

  /** @param {Given} given */
  update(given) {
    const { kinds, moment, place, theme, alt, covered = null } = given;
    const kind = kinds.find((one) => one.kind === place.kind);
    const codes = moment.weights[place.kind];
    if (!kind || !codes) return;
    this.kind = kind;
    this.board.setTheme(theme);
    this.weights = weightsOf(kind, codes, place.layer * kind.heads + place.head);
    /** @type {Panel} */
    const panel = {
      ...{ name: "weights", title: "weights", role: "attention", rows: "query", cols: "key" },
      ...{ data: this.weights, shape: [kind.rows, kind.cols], low: 0, high: 1, scale: "weights" },
      ...{ numbered: true, bar: true },
    };
    const labels = { query: kind.query, key: kind.key };
    this.cover(covered);
    this.board.show({ panels: [panel], grid: [[0]], labels, alt });
    this.light(given.pin);
    this.drawGrids(given);
  }

  /** @param {number | null} row */
  cover(row) {
    if (row === this.covered) return;
    this.covered = row;
    this.board.cover(row === null ? null : () => (i) => i === row);
  }

  /** @param {Pair} pin */
  light(pin) {
    const { q, k } = this.hovered;
    const hovered = { panel: "weights", rows: "query", cols: "key", i: q, j: k };
    this.board.light({
      hovered: q === null && k === null ? null : hovered,
      pinned: { query: pin.q, key: pin.k },
    });
  }

  /** The weight of a cell; NaN where it is hidden. @param {number} i @param {number} j */
  weightAt(i, j) {
    return this.weights[i * (this.kind?.cols ?? 0) + j];
  }

  /** @param {Given} given */
  drawGrids({ kinds, moment, place, theme, without, covered = null }) {
    const key = kinds.map(({ kind }) => kind).join();
    if (this.made.key !== key) {
      for (const { grid, room } of this.grids.splice(0)) {
        grid.destroy();
        room.remove();
      }
      this.grids = kinds.map(({ kind }) => this.makeGrid(kind, kinds.length > 1));
      this.made.key = key;
    }
    const mostSide = kinds.length > 1 ? SIDE.several : SIDE.one;
    let before = 0;
    for (const [n, kind] of kinds.entries()) {
      const { layers, heads, rows, cols } = kind;
      const codes = withoutRow(moment.weights[kind.kind], kind, covered);
      const pooled = poolWeights(codes, layers * heads, rows, cols);
      const hidden = poolHidden({ ...kind, hidden: null }, pooled.height, pooled.width);
      const first = before;
      /** @type {HeadId} */
      const current = place.kind === kind.kind ? [place.layer, place.head] : [-1, -1];
      this.grids[n].grid.update({
        ...{
          layers: Array.from({ length: layers }, (_, layer) => layer),
          heads,
          overview: { ...pooled, hidden },
          order: null,
          faded: null,
          theme,
          mostSide,
        },
        most: layers * (mostSide + 4) + 40,
        chosen: place.kind === kind.kind ? [{ head: current, colour: INK[theme].attention }] : [],
        current,
        describe: ([layer, head]) =>
          describe({ kind: kind.kind, layer, head }, kinds.length > 1, without?.[first + layer * heads + head]),
      });
      before += layers * heads;
    }
  }

  /** @param {string} kind @param {boolean} several */
  makeGrid(kind, several) {
    const room = element("div", { class: "kind" });
    const place = element("div", { class: "grid-room" });
    if (several) room.append(element("h3", {}, kindName(kind)));
    room.append(place);
    this.small.append(room);
    const grid = new Grid(place, {
      onChoose: ([layer, head]) => this.onWatch({ kind, layer, head }),
      onHover: () => {},
    });
    return { kind, grid, room };
  }

  destroy() {
    for (const { grid } of this.grids) grid.destroy();
    this.board.destroy();
  }
}

/**
 * One head's weights as numbers, NaN where the causal mask hides a cell.
 * @param {TrainingKind} kind @param {Uint16Array} codes @param {number} head
 */
export function weightsOf({ rows, cols, causal }, codes, head) {
  const weights = new Float32Array(rows * cols);
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < cols; j += 1) {
      const at = i * cols + j;
      weights[at] = causal && j > i ? NaN : codes[head * rows * cols + at] / FULL;
    }
  }
  return weights;
}

/**
 * The weights of all heads with one row empty, as it is covered; null covers none.
 * @param {Uint16Array} codes @param {TrainingKind} kind @param {number | null} row
 */
function withoutRow(codes, { layers, heads, rows, cols }, row) {
  if (row === null || row >= rows) return codes;
  const left = codes.slice();
  for (let head = 0; head < layers * heads; head += 1) {
    const first = (head * rows + row) * cols;
    left.fill(0, first, first + cols);
  }
  return left;
}

/** @param {HeadPlace} place @param {boolean} several @param {number | undefined} without */
function describe(place, several, without) {
  const name = placeName(place, several);
  return without === undefined ? name : `${name}: accuracy without it ${percent(without)}`;
}
