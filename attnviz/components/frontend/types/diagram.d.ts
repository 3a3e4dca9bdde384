// The diagram of a model: its parts, and where they are drawn.

type PartKind =
  | "tokens"
  | "embeddings"
  | "input"
  | "norm"
  | "attention"
  | "add"
  | "widen"
  | "narrow"
  | "dense"
  | "logits"
  | "softmax"
  | "other";
/** A part of a model: one or more steps of a document. */
interface Part {
  /** the same as long as the model is */
  id: string;
  kind: PartKind;
  /** of its attention, which is the layer of its document */
  layer: number;
  steps: Option[];
  /** the name of the step that it opens with */
  opens: string;
  /** "encoder block 2", or "decoder" outside of its blocks */
  place: string;
  /** "feed-forward, hidden units" */
  name: string;
  /** what is written into its box */
  lines: string[];
  /** its shapes and weights in words */
  says: string;
  /** columns of what goes in and of what comes out */
  widths: [number, number];
}
/** A block of a stack: the parts of its attentions; what stands before and after all blocks has no number. */
interface ModelBlock {
  id: string;
  number: number | null;
  /** whether its attention is local or global, in a model with windows; else "" */
  reach: string;
  parts: Part[];
}
interface Stack {
  name: "encoder" | "decoder";
  blocks: ModelBlock[];
}
/** A part, or a block that is closed, where it is drawn. */
interface DiagramBox extends Box {
  id: string;
  kind: PartKind | "block";
  label: string;
  title: string;
  lines: string[];
  /** what a click opens; a closed block keeps the step, if it has it */
  layer: number;
  step: string;
  /** of a closed block the id of its first part */
  first?: string;
  /** and the kinds of its parts */
  inside?: PartKind[];
}
/** A line that data takes. */
interface DiagramLine {
  d: string;
  ink: "stream" | "residual" | "query" | "key" | "value";
  width: number;
  arrow: boolean;
  /** the number, in the order of computation, of the part that it leads to */
  order: number;
}
interface DiagramFrame extends Box {
  label: string;
  /** of the label, px: it stays in sight where the diagram is scrolled, but not over the next word */
  room: number;
}
interface DiagramLayout extends Size {
  /** the size of letters, px */
  type: number;
  boxes: DiagramBox[];
  lines: DiagramLine[];
  /** around the blocks that are open, and around what belongs together */
  frames: DiagramFrame[];
  /** the names of the stacks */
  words: { text: string; x: number; y: number }[];
}
