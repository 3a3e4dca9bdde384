// Pictures that leave the page, and what is read of plotly.js.

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
/** What the recording pen (pen.ts) writes down, in the picture's own pixels. */
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
  /** a sheet of 16:9, as a slide is */
  wide: boolean;
  /** the text's tokens above the picture */
  chips: boolean;
  /** the arithmetic of the pinned cell, under the picture; "" where nothing is pinned */
  pinned: string;
  family: string;
}
/** What an element that can leave the page carries. */
interface PagePicture {
  name: string;
  readonly ready: boolean;
  paint(pen: import("../pen/pen.ts").Pen, looks: { theme: Theme }): void;
  prepare?(theme: Theme): Promise<void>;
  /** what its marks mean, for the caption; "" where it has none */
  readonly note?: string;
  /** the tokens of the text that it shows */
  tokens?(): string[];
  /** what is played, as pictures; null where nothing is */
  animation?(looks: { theme: Theme; title: string }): PageAnimation | null;
  /** the walk that it is a step of, which can play itself */
  walk?: import("../walk/walk.ts").Walk;
}
/** Pictures of one size, at times from 0 to 1. */
interface PageAnimation extends Size {
  ms: number;
  canvas: HTMLCanvasElement;
  /** Draws on the canvas. */
  paint(t: number): void;
  /** Draws, and returns the pixels: RGBA, little-endian. */
  draw(t: number): Uint32Array;
  destroy(): void;
}
/** What a file says of what it shows, to programs that read it. */
interface FileWords {
  title: string;
  caption: string;
}
interface FoundPicture {
  name: string;
  element: HTMLElement;
  picture: PagePicture;
}
/** Something for each weight of the font. */
interface Weights {
  regular: string;
  bold: string;
}
interface ExportPaths {
  letters: string;
  fonts: string;
  pdf: string;
  pptx: string;
}

// ---- plotly.js

interface PlotlyTrace {
  type: string;
  name?: string;
  visible?: boolean | string;
  meta?: { rows?: string; cols?: string; reasons?: MaskReasons };
  z: Rows;
  xaxis: string;
  yaxis: string;
  zmin: number;
  zmax: number;
  colorscale?: [share: number, colour: string][];
  hovertemplate?: string;
  /** of each cell: what hovering says, and what is written into it */
  customdata?: string[][];
  text?: string[][];
  xgap?: number;
  showscale?: boolean;
  texttemplate?: string;
  colorbar?: { tickfont?: PlotlyFont; [option: string]: unknown };
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
  shapes: object[];
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
  toImage(graph: HTMLElement, options: object): Promise<string>;
  purge(graph: HTMLElement): void;
  Icons: Record<string, object>;
}
/** Plotly's own listeners. */
interface PlotlyEmitter {
  on(name: string, work: () => void): void;
  removeListener(name: string, work: () => void): void;
}
