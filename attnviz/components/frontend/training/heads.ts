// The attention of a training's heads at a snapshot: small heatmaps of all, and the chosen one large.

import { PairBoard } from "../board/pair_board.ts";
import { describe } from "../board/panel.ts";
import { INK } from "../core/colours.ts";
import { WEIGHT_LEVELS } from "../core/constants.ts";
import { element } from "../core/dom.ts";
import { percent } from "../core/format.ts";
import { Guess } from "../core/guess.ts";
import { NOTHING } from "../core/pin.ts";
import { Grid } from "../grid/grid.ts";
import { poolHidden, poolWeights } from "../grid/pool.ts";
import { kindName, placeName } from "./words.ts";

const SIDE = { one: 96, several: 56 }; // px: the largest small heatmap, of one kind of attention or of several

export interface HeadsProps {
  kinds: TrainingKind[];
  moment: TrainingMoment;
  /** of the head that is shown large */
  place: HeadPlace;
  /** what it is, for screen readers */
  alt: string;
  pin: Pair;
  /** a row that is to be guessed */
  covered?: number | null;
  theme: Theme;
  /** the accuracy without each head, in the order of all heads; the last is with all */
  without: number[] | null;
}

export interface Does {
  onWatch: (place: HeadPlace) => void;
  onPoint: (at: Pair) => void;
  onPin: (at: Pair) => void;
  /** a guess was made */
  onGuess?: (guess: Guess) => void;
}

export class Heads {
  small: HTMLElement;
  onWatch;
  grids: { kind: string; grid: Grid; room: HTMLElement }[] = [];
  made: { kinds: TrainingKind[] | null; key: string; board: string } = { kinds: null, key: "", board: "" };
  weights: Float32Array<ArrayBuffer> = new Float32Array(0);
  kind: TrainingKind | null = null;
  pin: Pair;
  /** the row that is guessed; null where none is */
  guess: Guess | null = null;
  /** of which head it is */
  guessOf = "";
  pairs: PairBoard;

  constructor(
    { small, large }: { small: HTMLElement; large: HTMLElement },
    { onWatch, onPoint, onPin, onGuess }: Does,
  ) {
    this.small = small;
    this.onWatch = onWatch;
    this.pin = NOTHING;
    const point = () => {
      this.light();
      onPoint(this.pairs.hovered);
    };
    this.pairs = new PairBoard({ point, pin: onPin }, large);
    this.pairs.board.uncover = ({ i, j }) => {
      const { guess } = this;
      if (!guess?.take({ row: i, column: j }, this.rowOf(guess.row))) return false;
      this.coverUp();
      onGuess?.(guess);
      return true;
    };
  }

  update(given: HeadsProps) {
    const { kinds, moment, place, theme, alt, covered = null } = given;
    const kind = kinds.find((one) => one.kind === place.kind);
    const codes = moment.weights[place.kind];
    if (!kind || !codes) return;
    this.kind = kind;
    this.pairs.board.setTheme(theme);
    this.weights = weightsOf(kind, codes, place.layer * kind.heads + place.head);
    const panel: Panel = {
      ...{ name: "weights", title: "weights", role: "attention", rows: "query", cols: "key" },
      ...{ data: this.weights, shape: [kind.rows, kind.cols], low: 0, high: 1, scale: "weights" },
      ...{ numbered: true, bar: true },
    };
    const labels = { query: kind.query, key: kind.key };
    this.cover(covered, Object.values(place).join());
    this.pairs.board.show({
      panels: [panel],
      grid: [[0]],
      labels,
      alt: `${alt}: ${describe(panel, covered !== null)}`,
    });
    this.pin = given.pin;
    this.light();
    this.drawGrids(given);
  }

  /** Covers a row of a head, or none. */
  cover(row: number | null, of: string) {
    if (row === (this.guess?.row ?? null) && of === this.guessOf) return;
    this.guess = row === null ? null : new Guess(row);
    this.guessOf = of;
    this.coverUp();
  }

  coverUp() {
    const { guess } = this;
    this.pairs.board.cover(guess?.isOpen ? () => guess.covers : null);
  }

  /** The weights of a row; NaN where they are hidden. */
  rowOf(row: number) {
    const cols = this.kind?.cols ?? 0;
    return this.weights.subarray(row * cols, (row + 1) * cols);
  }

  /** What is lit in the large picture. */
  get lit() {
    return this.pairs.lit("weights", this.pin);
  }

  light() {
    const { named: of } = this.pairs;
    const named = of && { ...of, layer: null, head: null }; // of a head, that is shown meanwhile
    const isPart = named && (named.row !== null || named.column !== null || named.part || named.matrix);
    this.pairs.light("weights", this.pin, isPart ? named : null);
  }

  /** The weight of a cell; NaN where it is hidden. */
  weightAt(i: number, j: number) {
    return this.weights[i * (this.kind?.cols ?? 0) + j];
  }

  drawGrids({ kinds, moment, place, theme, without, covered = null }: HeadsProps) {
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
      const current: HeadId = place.kind === kind.kind ? [place.layer, place.head] : [-1, -1];
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
        chosen: place.kind === kind.kind ? [{ head: current, colour: INK[theme].attention }] : [],
        current,
        describe: ([layer, head]) =>
          headText({ kind: kind.kind, layer, head }, kinds.length > 1, without?.[first + layer * heads + head]),
      });
      before += layers * heads;
    }
  }

  makeGrid(kind: string, several: boolean) {
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
    this.pairs.board.destroy();
  }
}

/** One head's weights as numbers, NaN where the causal mask hides a cell. */
export function weightsOf({ rows, cols, causal }: TrainingKind, codes: Uint16Array, head: number) {
  const weights = new Float32Array(rows * cols);
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < cols; j += 1) {
      const at = i * cols + j;
      weights[at] = causal && j > i ? NaN : codes[head * rows * cols + at] / WEIGHT_LEVELS.full;
    }
  }
  return weights;
}

/** The weights of all heads with one row empty, as it is covered; null covers none. */
function withoutRow(codes: Uint16Array, { layers, heads, rows, cols }: TrainingKind, row: number | null) {
  if (row === null || row >= rows) return codes;
  const left = codes.slice();
  for (let head = 0; head < layers * heads; head += 1) {
    const first = (head * rows + row) * cols;
    left.fill(0, first, first + cols);
  }
  return left;
}

function headText(place: HeadPlace, several: boolean, without: number | undefined) {
  const name = placeName(place, several);
  return without === undefined ? name : `${name}: accuracy without it ${percent(without, 1)}`;
}
