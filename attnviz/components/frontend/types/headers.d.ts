// The headers that the server sends, each with its component's arrays; see attnviz/components/*.py.

/** How a head computes its weights. */
interface AttentionHeader {
  scale: number;
  /** how the scale is written: "1/√8", "off" or a number */
  scale_label: string;
  mask: "none" | "causal" | "array";
  /** why the mask hides cells, where that is known */
  mask_reasons?: MaskReasons | null;
  /** what it fills into hidden cells, null for −∞; and of which matrix: after the scaling, or before it */
  mask_value: number | null;
  mask_fills: "scaled" | "scores";
  /** the soft cap of the scaled scores, where there is one */
  cap?: number;
  /** whether a position bias is added */
  biased?: boolean;
  /** of a document of averages: the way whose arithmetic it is */
  way?: string | null;
}
/** Names and texts of what can be chosen. */
type Option = [name: string, label: string];
/** A switch of a walk; `other` is the value that a press chooses. */
interface Switch {
  name: string;
  label: string;
  help: string;
  isOn: boolean;
  other: string;
}
/** What there is to choose from. */
interface Offered {
  steps: Option[];
  /** the step before and the one after, null at an end */
  previous: Partial<WalkValues> | null;
  next: Partial<WalkValues> | null;
  drawings: Option[];
  /** their numbers; none if there is no choice */
  layers: number[];
  heads: number[];
  /** by layer: how wide the window of a local one is, or that it is global */
  layerMarks?: Record<string, string>;
  /** how many heads after one another share a head of keys and values, where they do */
  sharedBy?: number;
  layerLabel: string;
  /** what stands there instead of the heads, else "" */
  place: string;
  switches: Switch[];
  /** the row that nobody is to see, and the number of rows */
  covered?: { row: number; rows: number } | null;
  /** whether the walk can play itself */
  plays?: boolean;
  /** whether a guide leads through the layers, so that they have no list */
  isLed?: boolean;
}
interface StageHeader extends BoardPicture {
  /** what the picture belongs to, and where its step stands in the order of steps */
  walk: unknown;
  order: number;
  step: string;
  layer?: number;
  head?: number;
  /** what the scores are multiplied by */
  scale?: number;
  /** what a hidden cell holds */
  hidden?: number;
  /** the soft cap of the scaled scores, where there is one */
  cap?: number;
  /** whether a row is covered until it is guessed, and in which panel */
  predict?: boolean;
  result?: string;
  /** the panel that takes the whole picture, "" for all of them; where nothing is said, the user's choice stays */
  focus?: string;
  /** the row to cover where none is pinned */
  guess?: number;
}
interface CompareHeader extends Pair {
  /** names the picture; where only the pin or the focus is another, nothing more is sent */
  trace: string;
  /** the matrix that takes the whole picture; "" for all of them */
  focus: string;
  quantity: string;
  panels?: Panel[];
  labels: { query: string[]; key: string[] };
  /** of each side its own labels, null where it has no such row or column */
  own: Record<string, { query: (string | null)[]; key: (string | null)[] }>;
  hidden: string | null;
  /** of A and B, where both have all rows and columns: why the mask hides cells */
  mask_reasons?: Record<string, MaskReasons>;
  alt: string;
  /** of matrices sent in 16 bits: the range of their levels */
  ranges: Record<string, [number, number] | null>;
  acknowledged: number;
}
/** Matrices side by side. */
interface MatrixHeader {
  /** in their order; their numbers are the arrays of the payload that have their names */
  panels: Omit<Panel, "data" | "shape">[];
  /** tokens by the kind of axis; without them, an axis has numbers */
  labels: Labels;
  alt: string;
  /** what hidden cells hold */
  hidden: string;
  /** what is said of each cell of the only matrix, row by row; without it, its row, its column and its number */
  readings: string[] | null;
  hint: string;
  /** the row that is chosen, which a click on one of its cells does; null where none is */
  row: number | null;
  /** the cells that a click chooses, such as "3.5_4.1"; null where a click pins a cell */
  chosen: string | null;
  /** what a click does to a cell that is not chosen, and to one that is */
  click_effects: [string, string] | null;
  /** what is announced after a click on a cell that was not chosen, and on one that was */
  click_results: [string, string] | null;
  acknowledged?: number;
}
interface ShareHeader {
  address: string;
  sentence: string;
  /** the server's address for other machines, or "" */
  host: string;
}
/** One's own lesson: a text to keep, null where the server asks for it. */
interface KeyboardHeader {
  lines: { shown: string[]; says: string; sends: Record<string, string> }[];
  lecture: boolean;
  /** the title of the open chapter */
  chapter: string;
  lesson?: string | null;
  /** whether a lesson is open */
  in_lesson: boolean;
  acknowledged: number;
}
interface ExportHeader {
  heading: string;
  none: string;
  name: string;
  title: string;
  caption: string;
  server: ExportPaths | null;
}
/** What a page of its own was made with. */
interface PageSettings {
  /** what is chosen, by the keys of links and written as in links */
  view: Record<string, string>;
  lecture: boolean;
  /** the family of the font that is inside */
  font: string;
  /** why numbers that the page does not hold can't be shown, to end a sentence */
  missing: string;
  /** what scores are made of, by the names of their files */
  scores: Record<string, ScoreParts>;
}
