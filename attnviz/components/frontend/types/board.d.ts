// Boards: matrices, where they lie, and what they are painted with.

/** One axis of a drawn matrix: from pixels to cells, and back. The names are plotly.js's. */
interface Axis {
  _offset: number;
  _length: number;
  p2l(pixel: number): number;
  l2p(cell: number): number;
}
type Rows = ArrayLike<number>[];
type IsCovered = (i: number, j: number) => boolean;
/** A matrix where it is drawn. */
interface DrawnPanel {
  name: string;
  rows: string;
  cols: string;
  axes?: [string, string];
  z: Rows;
  width: number;
  height: number;
  x: Axis;
  y: Axis;
  labelled?: { rows: boolean; columns: boolean; turned: boolean; room: number };
  covered?: IsCovered | null;
  /** of heads side by side: the width of one */
  parts?: number;
  /** of a Plotly chart: why hidden cells are hidden */
  reasons?: MaskReasons;
}
/** The operands of a matrix that is a product. */
interface ProductOf {
  left: string;
  right: string;
  bias?: number[] | null;
}
/**
 * How a matrix that is no product is made of others, which have its shape: attnviz/steps/picture.py describes it. What
 * its kind does not use is null.
 */
interface OperationOf<Vector = number[]> {
  kind: "sum" | "norm" | "rms_norm" | "activation" | "softmax" | "rotation" | "term";
  /** the names of the matrices that it is made of: one, or the summands */
  of: string[];
  /** of a norm; of a term of a position bias: its table, a row for each relative position */
  weight: Vector | null;
  bias: Vector | null;
  /** what a norm adds to the variance */
  eps: number | null;
  /** whose mean and variance a norm takes: of each row, or of all numbers */
  over: "token" | "all" | null;
  name: "relu" | "gelu" | "gelu_tanh" | null;
  /** of an RMS norm: what it divides each row by, where that does not follow from the row */
  root: Vector | null;
  /** of a rotation: cosine and sine of the angle of each row and pair of columns, and which columns are a pair */
  cos: Vector | null;
  sin: Vector | null;
  pairing: "halves" | "neighbours" | null;
  /** of a term: the relative position of each cell. A file without terms may lack it */
  rows?: Vector | null;
}
/** By the name of the result. */
type Products = Record<string, ProductOf | OperationOf>;
interface Operands {
  left: DrawnPanel;
  right: DrawnPanel;
  bias?: number[] | null;
}
/** Tokens by the kind of axis that they label. */
type Labels = Record<string, string[]>;

/** The parts of a mask, which together hide exactly its hidden cells. */
interface MaskReasons {
  /** whether no query sees a later key */
  causal: boolean;
  /** how many keys before and after itself a query sees at most */
  window: [before: number, after: number] | null;
  /** the keys that no query sees */
  padding: number[];
}
/** What colours a matrix: its numbers (NaN is hidden), and the range of its colours. */
interface Coloured {
  data: Float32Array;
  shape: [number, number];
  low: number;
  high: number;
  scale: "signed" | "weights";
}
/** How one matrix turns into another: all cells at once, column by column, or row by row. */
type Pace = "even" | "columns" | "rows";
/**
 * A matrix of a board; `rows` and `cols` name the kinds of its axes ("query", "key", "dim", ...). Matrices that share a
 * kind zoom, scroll and light up together.
 */
interface Panel extends Coloured {
  name: string;
  title: string;
  /** the quantity whose ink the title has */
  role: "query" | "key" | "value" | "attention" | null;
  rows: string;
  cols: string;
  /** what its rows and columns are called where they are no queries and keys; then neither has their colours */
  axes?: [string, string];
  /** whether the cells of a small matrix carry their numbers; on a board, where they fit */
  numbered?: boolean;
  /** whether a colour bar stands beside it */
  bar?: boolean;
  /** of heads side by side: the width of one, and which is followed */
  parts?: { width: number; followed: number };
  /** labels of columns that are no tokens, by their number */
  ticks?: Record<string, string>;
  /** the matrix that turns into this one, cell by cell, and how */
  made_from?: { name: string; pace: Pace };
  /** whether none of its cells is computed yet */
  is_blank?: boolean;
  /** cells that are left out, whatever hides them */
  blank?: CellBox[];
  /** why hidden cells are hidden, where that is known */
  reasons?: MaskReasons | null;
  /** px that its numbers are to have, if they do with fewer decimals */
  legible?: number;
  ink?: string;
}
/** A panel with what is worked out once from its numbers (board/panel.ts). */
interface CompletePanel extends Panel {
  z: Float32Array[];
  gaps: boolean;
  /** the smallest and the largest number, null where there is none */
  seen: [number, number] | null;
  /** the largest magnitude */
  largest: number;
}
/** What a board shows: panels, and by their numbers where each stands. */
interface BoardPicture<P = Panel> {
  panels: P[];
  grid: (number | null)[][];
  labels: Labels;
  /** the rows and columns that have a label also where there is none for each, by the kind of axis */
  always?: Record<string, number[]>;
  widths?: number[];
  heights?: number[];
  /** matrices that are not shown, such as the operands of one that takes the whole picture */
  away?: P[];
  /** whether each matrix carries the labels of its columns, also where the one below has the same */
  apart?: boolean;
  /** whether rows with the same tokens as those left of them do without their labels */
  narrow?: boolean;
  /** the operation, written in the empty corner of a product */
  between?: string | null;
  products?: Products;
  alt?: string;
}
interface Slot {
  panel: CompletePanel;
  row: number;
  column: number;
  rowLabels: boolean;
  /** whether those are the tokens and the name of the axis, not only that name */
  rowNames: boolean;
  columnLabels: boolean;
}
/** A panel with its box; while a step changes into another, also how much of it is seen. */
interface Place extends Slot, Box {
  turned: boolean;
  gutter: number;
  /** px that the title of the matrix, its shape and range, and the title of its columns may be wide */
  titleRoom: { title: number; about: number; axis: number };
  /** px that labels may be long */
  labelRoom: { rows: number; columns: number };
  alpha?: number;
  words?: number;
  numbers?: number;
  mix?: Mix;
  covers?: IsCovered;
  /** cells that are not computed yet, while the step is played */
  blank?: CellBox[];
}
/** A matrix on its way from one place and value to another, at t from 0 to 1. */
interface Mix {
  from: Place;
  to: Place;
  t: number;
}
/** The places of a matrix in two pictures; null where it comes or goes. */
type PlacePair = { from: Place; to: Place | null } | { from: null; to: Place };
interface CellCount {
  rows: number;
  cols: number;
}
interface CellPixels extends Size {
  pixels: Uint32Array;
}
/** Sizes of type in px; see core/type.ts. */
interface TypeSizes {
  least: number;
  unit: number;
  label: number;
  fine: number;
}
/** A label that is written: [left, top, width, height] around (x, y), turned with it. */
interface WrittenLabel {
  panel: string;
  side: "rows" | "columns";
  x: number;
  y: number;
  turn: number;
  box: BoxNumbers;
}
interface Hatch {
  ground: string;
  line: string;
  lineWidth: number;
  /** whose lines it has: / of the future, \\ of a window, both of padding */
  reason: "future" | "window" | "padding";
}
type HatchTile = HTMLCanvasElement & { hatch: Hatch };
/** The methods of a canvas that painters use: a canvas's own context has them, and the recording pen (pen.ts). */
interface Canvas2D {
  fillStyle: string | object;
  strokeStyle: string | object;
  lineWidth: number;
  globalAlpha: number;
  globalCompositeOperation: string;
  imageSmoothingEnabled: boolean;
  font: string;
  textAlign: string;
  textBaseline: string;
  direction: string;
  save(): void;
  restore(): void;
  translate(x: number, y: number): void;
  rotate(turn: number): void;
  setTransform(a: number, b: number, c: number, d: number, e: number, f: number): void;
  beginPath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void;
  rect(x: number, y: number, width: number, height: number): void;
  clip(): void;
  stroke(): void;
  fillRect(x: number, y: number, width: number, height: number): void;
  strokeRect(x: number, y: number, width: number, height: number): void;
  clearRect(x: number, y: number, width: number, height: number): void;
  fillText(text: string, x: number, y: number): void;
  measureText(text: string): TextMetrics;
  createPattern(tile: HatchTile, repetition: string): object | null;
  createLinearGradient(x0: number, y0: number, x1: number, y1: number): { addColorStop(at: number, c: string): void };
  drawImage(
    image: HTMLCanvasElement,
    sx: number,
    sy: number,
    sw: number,
    sh: number,
    x: number,
    y: number,
    width: number,
    height: number,
  ): void;
  putImageData(image: ImageData, x: number, y: number): void;
}
/** What a board's painters draw with. */
interface BoardPen {
  context: Canvas2D;
  theme: Theme;
  font: string;
  type: TypeSizes;
  labels: Labels;
  always: Record<string, number[]>;
  view(kind: string, count: number): Span;
  written: WrittenLabel[];
}
/** The part of a matrix that is in view, and the size of a cell in px. */
interface CellWindow {
  from: { row: number; column: number };
  to: { row: number; column: number };
  cell: Size;
}
/** How a board is painted: as it lies on the page, unless something else is said. */
interface PaintedAs {
  theme?: Theme;
  places?: Place[];
  imageOf?: (at: Place) => HTMLCanvasElement;
  written?: WrittenLabel[];
}
