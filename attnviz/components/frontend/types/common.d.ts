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
/** A header and arrays, as attnviz/components/payload.py writes them. */
interface Payload<Header> {
  header: Header;
  arrays: Arrays;
}
/**
 * Where a view stands: in the app (page/host.ts), in a notebook (notebook/host.ts) or in a page of its own
 * (embed/host.ts).
 */
interface Host {
  /** Where the server's own paths begin; "" where there is no server. */
  server: string;
  /** Requests a file by its name, as `fetch` does. */
  request(name: string): Promise<Response>;
  /** Sends changed values; returns whether they have arrived already. Else an answer acknowledges the number. */
  send(message: Message): boolean;
  /** Sends what may be lost without harm: the user does it again, or it is sent again. See docs/architecture.md. */
  say(name: string, value: unknown): void;
}
interface Component {
  /** Shows a payload; null: the theme has changed, or Streamlit calls again. */
  update(payload: Payload<any> | null): void;
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
/** A cell that is lit, or of a token its row or column alone. */
interface LitCell extends Omit<Cell, "i" | "j"> {
  i: number | null;
  j: number | null;
}
/** What is lit: an index for each axis kind; of a product the names of its operands. */
interface Lit {
  kinds: Record<string, number | null>;
  operands: { left?: string; right?: string };
  at: LitCell | null;
}

// ---- what elements carry

/** Draws a picture of matrices that others may follow: a board, or a Plotly graph. */
interface HTMLElement {
  attnviz?: import("../board/board.ts").Board;
  attnvizPicture?: PagePicture;
  /** the arithmetic of the pinned cell, "" where none is */
  attnvizPinned?: () => string;
  _fullLayout?: { font: { family: string }; meta?: { products?: Products }; [axis: string]: unknown };
  _fullData?: PlotlyTrace[];
  _ev?: PlotlyEmitter;
}
interface Window {
  Plotly: Plotly;
}
