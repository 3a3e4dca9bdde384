// What the modules hand to one another: payloads, messages, matrices, lines, marks. For the type check only: no module
// imports this file, and the browser never loads it.

type Theme = "light" | "dark";
type Numbers = Float32Array | Uint16Array | Uint8Array;
type NumberList = Numbers | Float64Array | number[];
/** [from, to) in cells, or two ends in px */
type Span = [number, number];
type Point = [number, number];
/** [x, y, width, height] */
type BoxNumbers = [number, number, number, number];
interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}
interface Size {
  width: number;
  height: number;
}
type WidthOf = (text: string) => number;

// ---- what comes from the server, and what goes there

interface Packed {
  data: Numbers;
  shape: number[];
}
type Arrays = Record<string, Packed>;
/** A header and arrays, as attnviz/components/packing.py writes them. */
interface Payload<Header> {
  header: Header;
  arrays: Arrays;
}
/** Sends a value to the server under a name. */
type SetTriggerValue = (name: string, value: unknown) => void;
interface Component {
  update(data: Uint8Array, setTriggerValue: SetTriggerValue, isNew: boolean): void;
  destroy(): void;
}
/** Changed values by their names; the server acknowledges the number. */
interface Message {
  number: number;
  values: Record<string, unknown>;
}
/** Runs once in the next frame, however often it is called before. */
interface FrameTask {
  (): void;
  cancel(): void;
}

// ---- what is pointed at or pinned

/** A query row and a key column, each a position or null. */
interface Pair {
  q: number | null;
  k: number | null;
}
type PartialPair = { q?: number | null; k?: number | null };
/** The same under the names of the axes. */
interface AxisPin {
  query: number | null;
  key: number | null;
  [kind: string]: number | null;
}
/** A cell of a matrix: its name, what its rows and columns are, and where it is. */
interface Cell {
  panel: string;
  rows: string;
  cols: string;
  i: number;
  j: number;
}
/** What is lit: an index for each axis kind; of a product the names of its operands. */
interface Lit {
  kinds: Record<string, number | null>;
  operands: { left?: string; right?: string };
  at: Cell | null;
}

// ---- matrices

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
  z: Rows;
  width: number;
  height: number;
  x: Axis;
  y: Axis;
  labelled?: { rows: boolean; columns: boolean; turned: boolean };
  covered?: IsCovered | null;
}
/** The operands of a matrix that is a product. */
interface ProductOf {
  left: string;
  right: string;
  bias?: number[] | null;
}
type Products = Record<string, ProductOf>;
interface Operands {
  left: DrawnPanel;
  right: DrawnPanel;
  bias?: number[] | null;
}
/** Tokens by the kind of axis that they label. */
type Labels = Record<string, string[]>;

/** What colours a matrix: its numbers (NaN is hidden), and the range of its colours. */
interface Coloured {
  data: Float32Array;
  shape: [number, number];
  low: number;
  high: number;
  scale: "signed" | "weights";
}
/**
 * A matrix of a board; `rows` and `cols` name the kinds of its axes ("query", "key", "dim", ...). Matrices that share a
 * kind zoom, scroll and light up together.
 */
interface Panel extends Coloured {
  name: string;
  title: string;
  role: string | null;
  rows: string;
  cols: string;
  /** whether cells carry their numbers where they fit */
  numbered?: boolean;
  /** whether a colour bar stands beside it */
  bar?: boolean;
  /** of heads side by side: the width of one, and which is followed */
  parts?: { width: number; followed: number };
  /** labels of columns that are no tokens, by their number */
  ticks?: Record<string, string>;
  ink?: string;
}
/** A panel with what is worked out once from its numbers (board_panel.js). */
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
  widths?: number[];
  heights?: number[];
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
  columnLabels: boolean;
}
/** A panel with its box; while a step changes into another, also how much of it is seen. */
interface Place extends Slot, Box {
  turned: boolean;
  gutter: number;
  titleRoom: number;
  alpha?: number;
  words?: number;
  numbers?: number;
  mix?: Mix;
  covers?: IsCovered;
}
/** A matrix on its way from one place and value to another, at t from 0 to 1. */
interface Mix {
  from: Place;
  to: Place;
  t: number;
}
/** The places of a matrix in two pictures; null where it comes or goes. */
interface PlacePair {
  from: Place | null;
  to: Place | null;
}
interface CellCount {
  rows: number;
  cols: number;
}
interface CellPixels extends Size {
  pixels: Uint32Array;
}
/** Sizes of type in px; see type.js. */
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
}
type HatchTile = HTMLCanvasElement & { hatch: Hatch };
/** The methods of a canvas that painters use: a canvas's own context has them, and the recording pen (pen.js). */
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
  view(kind: string, count: number): Span;
  written: WrittenLabel[];
}
/** The part of a matrix that is in view, and the size of a cell in px. */
interface CellWindow {
  from: { row: number; column: number };
  to: { row: number; column: number };
  cell: Size;
}

// ---- lines

interface LineHead extends CellCount {
  name: string;
  colour: string;
  at: Float32Array;
}
interface Scale {
  low: number;
  high: number;
}
/** Which weights are drawn as lines: see lines_choice.js. */
interface LineRules extends Scale {
  threshold: number;
  strongest: number;
}
interface LinesState extends LineRules {
  queryLabels: string[];
  keyLabels: string[];
  heads: LineHead[];
  direction: string;
  theme: Theme;
  hovered?: PartialPair;
  pinned?: PartialPair;
}
/** A token of a side: 0 is query, 1 is key. */
interface Token {
  side: number;
  index: number;
}
/** The tokens that are meant, by side, and where the keyboard is. */
interface LitTokens {
  meant: (number | null)[];
  hovered: (number | null)[];
  pinned: (number | null)[];
  cursor: Token | null;
}

// ---- the explorer

/** [layer, head]; head −1 is attention rollout up to the layer. */
type HeadId = [number, number];
interface Chosen {
  layer: number;
  head: number;
  chosen: HeadId[];
}
/** What the viewer has set, under the names that a link has for it. */
interface HeadsView extends Chosen, Pair {
  show: string;
  direction: string;
  threshold: number;
  strongest: number;
  special: string;
  between: string;
  values: string;
  mean: boolean;
  stretch: boolean;
  sort: string;
  label: string;
}
interface Measure {
  name: string;
  title: string;
  unit: string;
}
interface ExplorerHeader {
  trace: string;
  layers: number;
  heads: number;
  rows: number;
  cols: number;
  causal: boolean;
  query_labels: string[];
  key_labels: string[];
  query_groups: number[];
  key_groups: number[];
  sent: HeadId[];
  view: HeadsView;
  acknowledged: number;
  /** of each layer's heads */
  labels: string[][][];
  measures: Measure[];
  rollout: boolean;
  norms: boolean;
}
/** What all heads share: their shape, what is masked, and each token's group (0 special, 1 first sentence, 2 second). */
interface HeadFrame extends CellCount {
  causal: boolean;
  hidden: Numbers | null;
  groups: { query: number[]; key: number[] };
}
interface Filters {
  special: string;
  between: string;
}
/** A head's numbers as they are shown; see explorer_values.js. */
interface ShownValues {
  at: Float32Array;
  errors: Float64Array;
  high: number;
  seen: number;
  short: number;
}
interface ShownHead extends ShownValues {
  head: HeadId | null;
  name: string;
  colour: string;
}
interface ShownScene {
  heads: ShownHead[];
  missing: HeadId[];
  colours: Map<string, string>;
  high: number;
  least: number;
}
/** The thumbnails of all heads, a byte a cell. */
interface Overview extends Size {
  data: Numbers;
  hidden: Uint8Array | null;
}
type HowToChoose = "only" | "add" | "toggle";

// ---- pictures that leave the page

/** [a, b, c, d, e, f], as a canvas takes it */
type Matrix = [number, number, number, number, number, number];
/** ["M" | "L", x, y], ["C", ...], ["R", x, y, width, height] or ["Z"] */
type PathStep = [string, ...number[]];
interface Clip {
  path: PathStep[];
  parent: Clip | null;
}
interface ShapeMark {
  kind: "shape";
  path: PathStep[];
  fill: string | null;
  stroke: string | null;
  lineWidth: number;
  dash: number[];
  alpha: number;
  clip: Clip | null;
}
interface TextMark {
  kind: "text";
  text: string;
  matrix: Matrix;
  size: number;
  bold: boolean;
  anchor: Anchor;
  width: number;
  fill: string;
  alpha: number;
  clip: Clip | null;
}
type Anchor = "start" | "middle" | "end";
interface ImageMark extends Box {
  kind: "image";
  image: ImageData;
  smooth: boolean;
  cells: boolean;
  alpha: number;
  clip: Clip | null;
}
/** What the recording pen (pen.js) writes down, in the picture's own pixels. */
type Mark = ShapeMark | TextMark | ImageMark;
interface Sheet extends Size {
  marks: Mark[];
  paper: string | null;
  title: string;
  caption: string;
}
interface SheetLooks {
  theme: Theme;
  paper: boolean;
  title: string;
  caption: string;
  written: boolean;
  family: string;
}
/** What an element that can leave the page carries. */
interface PagePicture {
  name: string;
  readonly ready: boolean;
  paint(pen: import("./pen.js").Pen, looks: { theme: Theme }): void;
  prepare?(theme: Theme): Promise<void>;
}
interface FoundPicture {
  name: string;
  element: HTMLElement;
  picture: PagePicture;
}
interface Fonts<F = import("./pen_font.js").Font> {
  regular: F;
  bold: F;
}

// ---- plotly.js

interface PlotlyTrace {
  type: string;
  name?: string;
  visible: boolean | string;
  meta?: { rows?: string; cols?: string };
  z: Rows;
  xaxis: string;
  yaxis: string;
  zmin: number;
  zmax: number;
  xgap?: number;
  showscale?: boolean;
  texttemplate?: string;
  colorbar?: { tickfont?: PlotlyFont };
}
interface PlotlyFont {
  size?: number;
  family?: string;
}
interface PlotlyAxis {
  domain: Span;
  tickvals: number[];
  ticktext: string[];
  tickfont?: PlotlyFont;
  title?: { font?: PlotlyFont };
}
interface PlotlyLayout {
  margin: Record<"l" | "r" | "t" | "b", number>;
  annotations: { font?: PlotlyFont; text: string }[];
  hoverlabel?: { font?: PlotlyFont };
  [axis: `${"x" | "y"}axis${string}`]: PlotlyAxis;
}
interface PlotlyFigure {
  data: PlotlyTrace[];
  layout: PlotlyLayout;
}
interface Plotly {
  react(graph: HTMLElement, data: object[], layout: object, config: object): Promise<void>;
  restyle(graph: HTMLElement, changes: object, traces: number[]): Promise<void>;
  relayout(graph: HTMLElement, changes: object): Promise<void>;
  downloadImage(graph: HTMLElement, options: object): Promise<string>;
  purge(graph: HTMLElement): void;
  Icons: Record<string, object>;
}
/** Plotly's own listeners. */
interface PlotlyEmitter {
  on(name: string, work: () => void): void;
  removeListener(name: string, work: () => void): void;
}

// ---- what elements carry

/** Draws a picture of matrices that others may follow: a board, or a Plotly graph. */
interface HTMLElement {
  attnviz?: import("./board.js").Board;
  attnvizPicture?: PagePicture;
  _fullLayout?: { font: { family: string }; meta?: { products?: Products }; [axis: string]: unknown };
  _fullData?: PlotlyTrace[];
  _ev?: PlotlyEmitter;
}
interface Window {
  Plotly: Plotly;
}
