// The part "Text" of the page Train: what the server says of a text and of the models that learn it.

/** A sequence to train on: where it begins in the text, and how many of its tokens the one before has too. */
interface TextSequence {
  start: number;
  ids: number[];
  repeated: number;
}
/** How the training part of a text is cut line by line. */
interface SeriesLines {
  most: number;
  least: number;
  overlap: number;
  /** lines that are not empty, and those that are shorter than `least` */
  count: number;
  short: number;
  sequences: number;
  /** of the shortest and the longest one, in tokens */
  lengths: [number, number];
  /** sequences that end with a line end */
  ends: number;
  /** characters that are in two sequences, and those that are in none */
  repeated: number;
  dropped: number;
  /** sequences of the validation part */
  validation: number;
  shown: TextSequence[];
}
/** How a text is cut into sequences. */
interface SeriesCut {
  name: string;
  /** null for blocks, of which each stage has its own */
  lines: SeriesLines | null;
}
interface SeriesText {
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
  /**
   * in the training part: pairs of a consonant and what follows, those with a vowel, characters, vowels; null if none
   */
  vowels: { followed: number; by_vowel: number; characters: number; vowels: number } | null;
  /** the counted table's loss over the validation part, in nats a character */
  floor: number;
  /** blocks of the validation part, each with the character after it */
  blocks: number[][];
  /** null where it is not shown */
  cut: SeriesCut | null;
  /** under which the counts of pairs are requested */
  pairs: string;
}
interface SeriesStage {
  name: string;
  title: string;
  adds: string;
  /** what others report on tiny Shakespeare */
  reported: number | null;
  parameters: number;
  /** how many steps, and the loss to expect after them */
  expected: [number, number][];
  block: number;
  cut: string;
  rate: number;
  batch: number;
  /** with what it would be trained next, and of the first step the first blocks, where they are shown */
  next: { block: number; batch: number; seed: number };
  drawn: TextSequence[];
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
interface SeriesValues extends SnapshotValues {
  /** the link's name of the stage that is looked at; "" for the one that was trained last */
  rung: string;
  text_view: string;
  cut: string;
}
interface SeriesHeader {
  text: SeriesText;
  stages: SeriesStage[];
  values: Omit<SeriesValues, "commands">;
  /** whether a lesson is open, whose scenes the arrow keys go through */
  in_lesson: boolean;
  acknowledged: number;
}
interface StageCurves {
  loss: Series;
  held_out: Series;
  /** the held-out losses of the other trainings */
  earlier: Series[];
}
/** A stage with its curves. */
interface StageRow {
  stage: SeriesStage;
  curves: StageCurves;
}
/** What is drawn: the rows, which of them is looked at, and at which step. */
interface SeriesProps {
  header: SeriesHeader;
  rows: StageRow[];
  row: StageRow;
  step: number;
  values: SeriesValues;
  theme: Theme;
  failed: string;
}
interface SeriesShown extends SeriesProps {
  /** which is open: the models, or what stands beside it */
  view: "ladder" | "table" | "loss" | "data";
  /** of the row that is looked at */
  run: TrainingRun;
  place: HeadPlace;
  moment: TrainingMoment | null;
  without: number[] | null;
  hovered: Pair;
  sizes: Surroundings["sizes"];
}
