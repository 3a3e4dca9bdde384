// A step that is played: what is to be shown at each moment.

/** Cells of a matrix: a part of it. */
interface CellBox {
  row: number;
  column: number;
  rows: number;
  columns: number;
}
type RoleInk = "query" | "key" | "value" | "attention" | "text";
/** Cells that are outlined; strong ones are what is being computed with. */
interface LitCells {
  panel: string;
  box: CellBox;
  ink: RoleInk;
  strong?: boolean;
  /** as of CellsAt */
  inCorner?: boolean;
}
/** A cell that shows another number than its matrix has in the end; without colour where the matrix's do not apply. */
interface WrittenCell {
  panel: string;
  row: number;
  column: number;
  value: number;
  plain?: boolean;
}
/**
 * Where cells fly from or to. Those in the corner stand in the empty corner of a product, beside these rows of the
 * right matrix; where there is no such corner they are not shown.
 */
interface CellsAt {
  panel: string;
  box: CellBox;
  inCorner?: boolean;
}
/**
 * Cells on their way, `along` from 0 to 1: with a value of their own, or as an image of the cells that they arrive at.
 * Their numbers are written where they are true: never over a cell of a matrix that holds another number.
 */
interface Flight {
  from: CellsAt;
  to: CellsAt;
  along: number;
  value?: number;
  /** the matrix whose colours the value has */
  coloured: string;
}
/** One line of the arithmetic: a product, or what else is added. */
interface Term {
  left: number | null;
  right: number | null;
  product: number;
  label?: string;
}
/**
 * A row of the left matrix that stands upright in the empty corner: the matrix whose rows it stands beside, its name.
 */
interface Upright {
  beside: string;
  name: string;
  ink: RoleInk;
}
/** A matrix that shows something else than in the whole picture: under this title, perhaps with numbers of its own. */
interface Stand {
  title: string;
  data?: Float32Array;
}
/** The arithmetic of one cell, as far as it has come. */
interface Work {
  /** all of them */
  terms: Term[];
  /** how many are there */
  count: number;
  /** how much of the last of these is there, 0 to 1 */
  newest: number;
  sum: number | null;
  inks: [RoleInk, RoleInk];
}
/** A piece of a sentence, in the ink of what it names. */
type Said = [text: string, ink?: RoleInk];
/** What is shown of a step at one moment. */
interface Frame {
  /** cells that are not there yet, by the matrix */
  blank: Record<string, CellBox[]>;
  lit: LitCells[];
  /** matrices of which what is not lit stands back */
  veiled: string[];
  written: WrittenCell[];
  flights: Flight[];
  /** a matrix that turns into its transposed one, from the place of another */
  turn: { panel: string; over: string; title: string; along: number } | null;
  /** matrices that show something else, by name */
  stands: Record<string, Stand>;
  upright: Upright | null;
  work: Work | null;
  says: Said[];
}
/** A part of a step's motion: what is shown at `share`, 0 to 1, of it. Where one ends is a still. */
interface Beat {
  ms: number;
  /** whether it computes the example, before all other cells */
  isExample?: boolean;
  frame(share: number): Partial<Frame>;
}
/** What a step's motion is made of. */
interface Played {
  step: string;
  picture: BoardPicture;
  /** what scores are multiplied by */
  scale: number;
  /** what a hidden cell holds: −∞, or the number that a mask fills in */
  hidden: number;
  /** the soft cap of the scaled scores, where there is one */
  cap?: number;
  /** the cell that is computed slowly, before all others */
  example: Pair;
}
/** The motion of a step; all times are shares of its length. */
interface Timeline {
  ms: number;
  stills: number[];
  /** the moment from which on the example is there; 1 where nothing else is computed */
  example: number;
  at(t: number): Frame;
}
/** What paints a moment of a step on a board. */
interface BoardMotion {
  places(places: Place[]): Place[];
  /** Says whether the arithmetic stands in the empty corner. */
  paint(pen: BoardPen, places: Place[], imageOf: (at: Place) => HTMLCanvasElement): boolean;
}
