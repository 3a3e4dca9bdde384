// The page Train: what the server says of a task and its trainings, and what is drawn of them.

/** One kind of attention of a model: all its layers and heads on the text that is read. */
interface TrainingKind extends CellCount {
  kind: string;
  layers: number;
  heads: number;
  causal: boolean;
  query: string[];
  key: string[];
}
interface TrainingPattern {
  name: string;
  title: string;
  kind: string;
}
/** "new" is a model before its training; "recorded" a training that ships with the app. */
type TrainingState = "new" | "recorded" | "queued" | "running" | "stopped" | "done" | "diverged" | "failed";
/** What is known of one training. */
interface TrainingRun {
  id: string;
  /** what tells it from the others */
  title: string;
  is_control: boolean;
  /** under which its snapshots on this text are requested; "" if there are none any more */
  digest: string;
  state: TrainingState;
  /** a sentence on its state, such as why it ended */
  message: string;
  /** whether it goes on when asked to: not after a newer training, of another task or text either */
  can_continue: boolean;
  step: number;
  steps: number;
  /** steps a second */
  speed: number | null;
  /** seconds until it ends */
  left: number | null;
  /** the steps of which there are snapshots, in order */
  snapshots: number[];
  kinds: TrainingKind[];
  /** why no other page can show its model, in a sentence; "" if they can */
  cannot_open: string;
}
interface TrainingTask {
  name: string;
  title: string;
  explanation: string;
  expected: string;
  control: string;
  patterns: TrainingPattern[];
  /** the answers that a model can give, by their ids */
  answers: string[];
  /** the tokens of the text */
  read: string[];
  /** the number of the token after which it answers for the first time; before it no answer counts */
  first: number;
  /** what is right to write to the text; "" where nothing is written, or nothing known */
  right: string;
  /** the accuracy of a baseline that needs no model, where there is one */
  baseline?: number;
}
/** What the user chooses of trainings and their heads, by link key, and what is asked of the server. */
interface SnapshotValues {
  /** "decoder.1.0"; "" for the head that shows the pattern most */
  watch: string;
  /** a step; null for the newest snapshot */
  snapshot: number | null;
  pin: Pair;
  /** whether the pinned row is covered, to be guessed */
  predict: boolean;
  /** how many milliseconds a step takes at least */
  slow: number;
  /** what is to be done, each with a number that no other command has: what the server may not have read yet */
  commands: [number, string][];
  /** a name that only this tab knows, which finds its trainings again after a reload */
  visitor: string;
}
/** What a view is drawn by, beside its state: whatever depends on it is drawn anew when it changes. */
interface Surroundings {
  theme: Theme;
  /** of the window and of the smallest type, px */
  sizes: { width: number; height: number; leastType: number };
}
interface TrainingValues extends SnapshotValues {
  /** the training whose attention is shown; "" for the newest */
  run: string;
}
interface TrainingHeader {
  /** whether it is a page of its own, without a server */
  is_page: boolean;
  task: TrainingTask;
  runs: TrainingRun[];
  values: Omit<TrainingValues, "commands">;
  /** whether a lesson is open, whose scenes the arrow keys go through */
  in_lesson: boolean;
  acknowledged: number;
}
/** The numbers of a training, from float arrays of the payload. */
interface TrainingCurves {
  loss: Series;
  held_out: Series;
  accuracy: Series;
  /** accuracy on the sequences of the training, where they are few; else without values */
  trained: Series;
  /** by pattern: for each evaluation the score of each head of its kind */
  scores: { heads: number; steps: Numbers; values: Numbers }[];
}
interface Series {
  steps: Numbers;
  values: Numbers;
}
/** A line of a chart. */
interface CurveLine extends Series {
  name: string;
  /** "loss", "held", "accuracy", "pattern0", "pattern1": how it is drawn */
  look: string;
  /** of another training than the one that is shown */
  isOther: boolean;
  /** what stands at its end */
  label?: string;
  /** what words of a lesson call it */
  item?: string;
}
interface HeadPlace {
  kind: string;
  layer: number;
  head: number;
}
/** What a model does at a snapshot. */
interface TrainingMoment {
  step: number;
  /** by kind: 16-bit weights, (layers * heads, rows, cols) */
  weights: Record<string, Uint16Array>;
  answer: Uint16Array;
  probability: Float32Array;
  /** what it writes to the text; null where it writes nothing */
  written: string | null;
}
