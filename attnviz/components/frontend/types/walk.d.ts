// The walk of a document, and the page that it stands in.

type WalkDocument = import("../core/document.ts").WalkDocument;
/** Leads through all documents of a walk. */
type Guide = import("../diagram/diagram.ts").Diagram;
/** What shapes the view, by the keys of a link. */
interface WalkValues extends Pair {
  step: string;
  layer: number;
  head: number;
  drawing: string;
  predict: boolean;
  /** Whether the colours of weights are darkened: "0" in a long text, "1" always, "off" never. */
  stretch: string;
  /** Where the colours of scores end; null is at the largest. */
  limit: number | null;
  /** The matrix that takes the whole picture; "" for all of them. */
  focus: string;
  /** Whether the sentence is drawn without the shares of tokens that the tokenizer has added. */
  dim: boolean;
  /** Whether the score of the pinned cell is explained. */
  why: boolean;
  /** Whether the walk begins to play itself where a link opens it. */
  play: boolean;
  /** The position of the word that is hidden from the model; null where none is. */
  blank_at: number | null;
}
/** A word that is hidden from the model: the row of its mask, and the label of its token, as guesses name it. */
interface HiddenWord {
  row: number;
  word: string;
  label: string;
  /** What stands in its place: a mask for each of its tokens. */
  masks: string;
  /** The address of the view that says where it stands among all guesses; "" where none does. */
  ranked: string;
}
/** What the user asks of the page besides the values of a link. */
interface WalkRequests {
  /** The name of a first view to open. */
  opens?: string;
  /** Characters to be added to the text. */
  written?: string;
}
/** A view that the app offers to begin with. */
interface FirstView {
  name: string;
  title: string;
  /** What computes its attention. */
  says: string;
  /** Whether it is the view on the page. */
  shown: boolean;
}
/** What a model writes after the text: attnviz/ui/step_by_step.py describes it. */
interface WriteOn {
  /** Of the file with the list of what is written; null where the text is full. */
  digest: string | null;
  /** Why nothing more is written: the text fills all that the model can read, or that is shown; else "". */
  full: string;
}
/** What a model writes after the text. */
interface Written {
  tokens: WrittenToken[];
  /** Why the model writes no more, with the token that it drew next; "" if it may go on. */
  end: string;
}
/** A token that a model has written: attnviz/sources/writing.py describes it. */
interface WrittenToken {
  /** What it adds to the text; empty as long as a character is incomplete. */
  text: string;
  label: string;
  /** Its probability. */
  share: number;
  /** The likeliest tokens at this draw. */
  labels: string[];
  shares: number[];
}
/** What a score is the sum of, by parts of X: attnviz/measures/score_parts.py makes it. */
interface ScoreParts {
  /** Each part of the query with its contribution, in the order of the model; none if the parts are not known. */
  query: [name: string, value: number][];
  key: [name: string, value: number][];
  /** The largest parts of the query, and all others together. */
  rows: string[];
  /** The same of the key. */
  columns: string[];
  /** What they contribute, by row and column. */
  pairs: number[][];
  /** How much the sum differs from the score. */
  error: number;
  /** What must be known about the parts, or why they are not known. */
  note: string;
}
/** A row of the stream before the first layer and after each: attnviz/ui/walk.py makes it. */
interface RowStates {
  /** The numbers of the layers; none if what follows attention is not known. */
  layers: number[];
  /** Of each state, one more than there are layers: its length. */
  norms: number[];
  /** The likeliest token of each state through the language head; none if that is not known. */
  labels: string[];
  /** Its probability. */
  shares: number[];
  /** What must be known about them. */
  note: string;
}
/** Where a walk stands: what it gets its documents from, and who hears of the user's choices. */
interface Home {
  source: import("../core/arrays.ts").Source;
  /** By layer the name of the file with its document; null for one without attention. */
  documents?: Record<number, string | null>;
  /** Says in a sentence what the document of a layer, which is being loaded, waits for. */
  place?(layer: number): Promise<string>;
  /** Is called with what the user has changed, after it is painted. */
  changed?(values: Partial<WalkValues>): void;
  /** Is called when the walk begins to play itself. */
  plays?(): void;
  /** Is called when the user has revealed all of a covered row. */
  revealed?(): void;
  /** The numbers of the layers to choose from; none if there is no choice. */
  layers?: number[];
  /** What the matrices can be drawn as, beside the stage: names and labels. */
  drawings?: Option[];
  /** Loads plotly.js, where the drawing "chart" is offered. */
  plotly?(): Promise<Plotly>;
  /** Whether a word can be hidden from the model, which then guesses it. */
  hides?: boolean;
  /** The word that is hidden; null where none is. */
  hidden?: HiddenWord | null;
  /** What the model writes after the text; null where it writes none. */
  writes?: WriteOn | null;
  /** The way through the whole model after the output of an attention; null where it has no answer. */
  follows?: Following | null;
  /** Is called with what the model has written, to be added to the text. @param row the last one then */
  written?(text: string, row: number): void;
  /** By the numbers of layers: how wide the window of a local one is, or that it is global; none without windows. */
  layerMarks?: Record<string, string>;
  /** What the layer is called where there is no choice of one. */
  onlyLayer?: string;
  /**
   * Where keys are pressed that are meant for the walk: the document where the page is the walk's, else its element;
   * null where the page calls `act` itself.
   */
  keyboard?: EventTarget | null;
}
/** What follows the output of an attention in the whole model, as the page of the whole model has it. */
interface Following {
  /** The address of that page with this text, without a block and a step. */
  page: string;
  /** The number of the attention whose last step shows the model's answer; null if that block is not known. */
  answer: number | null;
  /** The layers with attention. */
  layers: number[];
  /** The numbers of their attentions in the model. */
  blocks: number[];
  /**
   * By layer, the title and the number of the attention that comes next; null after the last one of a stack. Empty, as
   * `steps` is, where the way leads to no answer.
   */
  next: ([string, number] | null)[];
  /** By layer, the names and titles of the steps up to the next attention; none where they are not known. */
  steps: [string, string][][];
  /** By layer, why no steps are known, as a sentence; empty where they are. */
  why: string[];
}
/** attnviz/components/walk.py describes it. */
interface WalkHeader {
  /** By layer; null for one without attention. */
  documents: (string | null)[];
  values: WalkValues;
  acknowledged: number;
  layers: number[];
  layer_marks: Record<string, string>;
  only_layer: string;
  drawings: Option[];
  lecture: boolean;
  /** Whether this is the view that the page's bare address stands for; null on a page without a text for newcomers */
  opening: boolean | null;
  /** Whether a link was opened with this view. */
  linked: boolean;
  /** Whether a lesson asks for the row that is covered. */
  asks: boolean;
  /** Whether the model guesses a word that is hidden from it. */
  hides: boolean;
  /** The word that is hidden in the documents. */
  hidden: HiddenWord | null;
  writes: WriteOn | null;
  follows: Following | null;
  /** The views to begin with; none on a page without them. */
  first: FirstView[];
  /** The whole model, on the page that shows one; the document of attention n is `documents[n]`. */
  model: ModelDiagram | null;
  link: LinkKeys;
  plotly: string;
}
/** What a diagram shows of a model before anything is run: attnviz/ui/transformer/view.py makes it. */
interface ModelDiagram {
  /** In order of computation. */
  attentions: ModelAttention[];
  /** Whether blocks normalise before attention and feed-forward. */
  norm_first: boolean;
  width: number;
  /** How many columns the logits have; null if there are no logits to show. */
  vocabulary: number | null;
  /** The labels of the tokens that each stack reads. */
  tokens: { encoder: string[] | null; decoder: string[] | null };
  /** The kind of positions, such as "sinusoidal"; "" if it is not known. */
  positions: string;
  /** Whether a norm follows the last block. */
  final_norm: boolean;
  /** Whether logits and probabilities are shown. */
  head: boolean;
}
interface ModelAttention {
  stack: "encoder" | "decoder";
  /** The number of its block in the stack. */
  block: number;
  kind: "encoder" | "decoder" | "cross";
  heads: number;
  head_size: number;
  /** How many heads of keys and values its heads share; null if that is not known. */
  key_heads: number | null;
  /** How wide its window is, or that it is global, in a model with windows; else "". */
  mark: string;
  /** What each map of its block's feed-forward takes and gives, in order; null if they are not known. */
  feed_forward: [number, number][] | null;
  /** Names and titles of its document's steps, in order. */
  steps: [string, string][];
}
/** The keys of a page's links in their order, and the defaults of those that the component writes. */
interface LinkKeys {
  keys: string[];
  /** The keys of values that have other names: of the step, where a page calls it otherwise. */
  names: Record<string, string>;
  defaults: Record<string, string | number | boolean | null>;
  /** The query that an address stands for which has none of these keys, or only those that all pages share. */
  bare: string;
  /** The query of the view that has the defaults of all keys. */
  plain: string;
}
