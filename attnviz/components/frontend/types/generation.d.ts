// The part Generate of the page Train: what the server says of a text that is generated, and what is drawn of it.

interface GenerationModel {
  title: string;
  /** the vocabulary, by id */
  characters: string[];
  /** what stands for a character that can't be seen, by id */
  names: Record<string, string>;
  /** the longest context */
  block: number;
  layers: number;
  /** 0 without attention */
  heads: number;
  has_lens: boolean;
  has_cache: boolean;
}
/** What the user chooses, by link key. */
interface GenerationValues {
  /** which of the drawn characters is shown; null for the last */
  drawn: number | null;
  /** "decoder.1.0"; "" for no head */
  watch: string;
  panel: GenerationPanel;
  seed: number;
}
/** How a character was drawn, another seed's text, the cache, or the true other half. */
type GenerationPanel = "draw" | "seeds" | "cache" | "half";
interface GenerationHeader {
  model: GenerationModel;
  /** the ids that it begins with */
  prompt: number[];
  /** the ids of the true other half of a text; null if there is none */
  truth: number[] | null;
  /** how many are drawn */
  count: number;
  temperature: number;
  top_k: number;
  top_p: number;
  cached: boolean;
  digest: string;
  values: GenerationValues;
  /** whether a lesson is open, whose scenes the arrow keys go through */
  in_lesson: boolean;
  acknowledged: number;
}
/** One of the likeliest tokens of a draw. */
interface DrawnRow {
  id: number;
  /** its place in the order, from 0 */
  rank: number;
  logit: number;
  scaled: number;
  probability: number;
  /** of the probabilities up to this one */
  sum: number;
}
/** One draw: its likeliest tokens in order, and how the token was chosen. */
interface Draw {
  rows: DrawnRow[];
  own: DrawnRow;
  /** how many tokens could be drawn */
  kept: number;
  /** of exp(scaled − the largest) over these */
  total: number;
  /** from 0 to 1; null if the choice is greedy */
  number: number | null;
  /** tokens from which it was predicted */
  context: number;
}
/** What is pointed at in a panel, by a name that it gives; "" for nothing. */
interface Pointer {
  at: string;
  /** the properties of an element that has this name */
  over: (at: string) => Record<"onpointerenter" | "onpointerleave", () => void>;
}
