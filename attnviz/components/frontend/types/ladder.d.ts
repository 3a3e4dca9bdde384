// The part "Text" of the page Train: what the server says of a text and of the models that learn it.

/** A way to cut documents into sequences. */
interface LadderCut {
  title: string;
  /** the pieces of each document */
  documents: string[][];
}
interface LadderText {
  is_built_in: boolean;
  /** how many characters it has, and how many of them, from the first on, are trained on */
  size: number;
  train: number;
  /** the characters by their ids, as they are written on an axis and as they are */
  labels: string[];
  characters: string[];
  /** the first ids of the text */
  first: number[];
  /** the ids of the table of pairs, in order */
  shown: number[];
  /** the counted table's loss over the validation part, in nats a character */
  floor: number;
  /** blocks of the validation part, each with the character after it */
  blocks: number[][];
  cuts: LadderCut[];
  /** under which the counts of pairs are requested */
  pairs: string;
}
interface LadderRung {
  name: string;
  title: string;
  adds: string;
  /** what others report on tiny Shakespeare */
  reported: number | null;
  parameters: number;
  /** how many steps, and the loss to expect after them */
  expected: [number, number][];
  block: number;
  rate: number;
  batch: number;
  /** whether it is trained after the training that goes on */
  will_follow: boolean;
  /** the first settings in which its training differs from the usual one, in words; "" if none */
  changed: string;
  /** its other trainings, the latest first: what they had otherwise */
  earlier: string[];
  run: TrainingRun;
  /** the snapshots at which the model writes a text */
  samples: number[];
}
interface LadderValues {
  /** the rung that is looked at; "" for the one that was trained last */
  rung: string;
  text_view: string;
  watch: string;
  snapshot: number | null;
  pin: Pair;
  /** whether the pinned row is covered, to be guessed */
  predict: boolean;
  /** ms a step, in slow motion */
  slow: number;
  command: [number, string];
  visitor: string;
}
interface LadderHeader {
  text: LadderText;
  rungs: LadderRung[];
  values: Omit<LadderValues, "command">;
  /** whether a lesson is open, whose scenes the arrow keys go through */
  in_lesson: boolean;
  acknowledged: number;
}
interface LadderCurves {
  loss: Series;
  held_out: Series;
  /** the held-out losses of the other trainings */
  earlier: Series[];
}
/** A rung with its curves. */
interface LadderRow {
  rung: LadderRung;
  curves: LadderCurves;
}
/** What is drawn: the rows, which of them is looked at, and at which step. */
interface LadderGiven {
  header: LadderHeader;
  rows: LadderRow[];
  row: LadderRow;
  step: number;
  place: HeadPlace;
  values: LadderValues;
  moment: TrainingMoment | null;
  theme: Theme;
  failed: string;
}
