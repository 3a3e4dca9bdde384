// The headers that the server sends, each with its component's arrays; see attnviz/components/*.py.

interface InspectorHeader extends Pair {
  step: string;
  scale: number;
  /** how the scale is written: "1/√8", "off" or a number */
  scale_label: string;
  mask: "none" | "causal" | "array";
  /** the names of all steps, in order */
  steps: string[];
  /** of those whose matrix each cell of queries by keys has */
  by_cell: string[];
  query_labels: string[];
  key_labels: string[];
  acknowledged: number;
}
/** Names and texts of what can be chosen. */
type Option = [name: string, label: string];
interface StepperHeader {
  steps: Option[];
  drawings: Option[];
  layers: number;
  heads: number;
  layer_label: string;
  place: string;
  switches: [name: string, label: string, help: string][];
  chosen: Record<string, string>;
  acknowledged: number;
}
interface StageHeader extends BoardPicture {
  /** what the picture belongs to, and where its step stands in the order of steps */
  walk: string;
  order: number;
  step: string;
  layer?: number;
  head?: number;
  /** whether a row is covered until it is guessed, and in which panel */
  predict?: boolean;
  result?: string;
}
interface CompareHeader extends Pair {
  /** names the picture; where only the pin is another, nothing more is sent */
  trace: string;
  quantity: string;
  panels?: Panel[];
  labels: { query: string[]; key: string[] };
  /** of each side its own labels, null where it has no such row or column */
  own: Record<string, { query: (string | null)[]; key: (string | null)[] }>;
  hidden: string | null;
  alt: string;
  /** of matrices sent in 16 bits: the range of their levels */
  ranges: Record<string, [number, number] | null>;
  acknowledged: number;
}
interface ChartHeader extends PlotlyFigure {
  alt: string;
  /** where plotly.js is served */
  plotly: string;
  config: object;
}
interface ShareHeader {
  address: string;
  sentence: string;
}
/** One's own lesson: a text to keep, null where the server asks for it. */
interface KeyboardHeader {
  lines: { shown: string[]; says: string; sends: Record<string, string> }[];
  lecture: boolean;
  lesson?: string | null;
}
interface ExportHeader {
  heading: string;
  none: string;
  name: string;
  title: string;
  caption: string;
  fonts: Fonts<string>;
}
