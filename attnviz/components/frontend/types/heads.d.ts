// The page Heads: attention as lines, and the explorer of all heads.

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
/** Which weights are drawn as lines: see lines/choice.ts. */
interface LineRules extends Scale {
  threshold: number;
  strongest: number;
}
/** The rows of a matrix beside the lines: the top of the first and the height of each, in px of the lines' element. */
interface MatrixRows {
  from: number;
  pitch: number;
}
interface LinesState extends LineRules {
  queryLabels: string[];
  keyLabels: string[];
  heads: LineHead[];
  direction: string;
  /** with which the tokens are to be level, where their labels find room there */
  beside: MatrixRows | null;
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
  /** as in WalkValues */
  stretch: string;
  sort: string;
  label: string;
}
interface Measure {
  name: string;
  title: string;
  unit: string;
  /** the keys whose weights it sums, if it is such a measure */
  keys: number[];
}
/** The digests of files: attnviz/heads/all_heads.py. Heads are numbered layer by layer. */
interface HeadFiles {
  shared: string;
  weights: [digest: string, first: number, count: number][];
  /** by layer */
  rollout: string[];
}
interface ExplorerHeader {
  trace: string;
  /** the model's own numbers of its layers with attention */
  layers: number[];
  heads: number;
  rows: number;
  cols: number;
  causal: boolean;
  query_labels: string[];
  key_labels: string[];
  query_groups: number[];
  key_groups: number[];
  files: HeadFiles;
  view: HeadsView;
  acknowledged: number;
  /** of each layer's heads */
  labels: string[][][];
  measures: Measure[];
  rollout: boolean;
  norms: boolean;
  /** whether a sink takes part in the softmax of any head, so that rows sum to less than 1 */
  has_sinks?: boolean;
  /** by layer: how wide the window of a local one is, or that it is global; empty where no layer has a window */
  layer_marks?: string[];
  /** by layer: how many heads after one another share a head of keys and values */
  shared_by?: number[];
  /** by layer: whether its mask shows some queries other keys than others */
  limited?: boolean[];
  /** by layer: why its mask hides cells; null if it hides none, or others */
  mask_reasons?: (MaskReasons | null)[];
  /** whether one head is chosen in the grid, and the page shows it: no lines, heatmaps and settings */
  only_grid?: boolean;
  /** of each layer's heads, what is said of them in place of their labels */
  said?: string[][][];
}
/**
 * What all heads share: their shape, what is masked, and each token's group (0 special, 1 first sentence, 2 second).
 */
interface HeadFrame extends CellCount {
  causal: boolean;
  hidden: Numbers | null;
  groups: { query: number[]; key: number[] };
  has_sinks?: boolean;
  /** why the mask of a head's layer hides cells, where that is known */
  reasons?: MaskReasons | null;
}
interface Filters {
  special: string;
  between: string;
}
/** A head's numbers as they are shown; see heads/values.ts. */
interface ShownValues {
  at: Float32Array;
  errors: Float64Array;
  high: number;
  seen: number;
  short: number;
  /** why the head's mask hides cells, where that is known */
  reasons?: MaskReasons | null;
  /** which rows and columns are not left out */
  kept?: Kept;
}
/** a byte a row and a byte a column: 0 where it is left out */
type Kept = { queries: Uint8Array; keys: Uint8Array };
interface ShownHead extends ShownValues {
  head: HeadId | null;
  name: string;
  colour: string;
}
interface ShownScene {
  heads: ShownHead[];
  missing: HeadId[];
  colours: Map<string, string>;
  /** of the colours */
  high: number;
  /** where the colours of weights end when they are darkened */
  dark: number;
  /** whether colours and lines adapt by themselves, unless the viewer says otherwise */
  isLong: boolean;
  /** whether the colours are darkened */
  isDarkened: boolean;
  /** that is drawn as a line */
  least: number;
  /** lines of each query, 0 for all */
  strongest: number;
}
/** The thumbnails of all heads, a byte a cell. */
interface Overview extends Size {
  data: Numbers;
  hidden: Uint8Array | null;
  /** by layer, where layers hide cells of their own */
  hiddenIn?: (Uint8Array | null)[];
}
type HowToChoose = "only" | "add" | "toggle";
