// Reads a document: all that is shown of the heads of a layer, in one safetensors file. docs/document.md describes the
// format; attnviz/document writes it, and checks there that names, shapes and numbers agree.

import { DOCUMENT_VERSION } from "./constants.ts";
import { DocumentError, readSafetensors, refuse } from "./safetensors.ts";
import type { Buckets } from "./buckets.ts";
import type { Stored } from "./safetensors.ts";

export { DocumentError };

/** The tokens of the rows (queries) or of the columns (keys). */
export interface Axis {
  text: string;
  pair: string | null;
  labels: string[];
  /** negative: the token has no id */
  ids: number[];
  /** the characters of the text that each token stands for */
  covers: string[];
  /** where these are; "" for a token that the tokenizer added */
  places: string[];
  /** 1 for tokens of the second text */
  segments: number[];
  /** whether a token replaces characters that are not in the vocabulary */
  unknown: boolean[];
}
/** One text of all heads, or one for each in the order of `heads`. */
export type OfHeads = string | string[];
/** The same of texts whose words may name parts of the picture. */
export type SaidOfHeads = SaidText | SaidText[];
/**
 * One matrix of a picture. `limit` ends its colours: a number, the end that these matrices share, or null for its own.
 * If `stretched` is not "", it is the title when colours are darkened, with {} in place of the number at which they end
 * (core/colour_limit.ts).
 */
export interface PanelSpec extends Pick<Panel, "name" | "rows" | "cols" | "role" | "scale"> {
  title: OfHeads;
  made_from: { name: string; pace: Pace } | null;
  limit: number | string[] | null;
  stretched: string;
  bar: boolean;
  numbered: boolean;
  /** labels of columns that are not tokens, by their number */
  ticks: Record<string, string>;
  /** of concatenated heads: the columns of one */
  part_width: number | null;
}
/** The names of two matrices, and of a vector that is added. */
export type ProductSpec = { left: string; right: string; bias: string | null };
/** How a matrix is made of others in a way that is no product, with the names of its vectors. */
export type OperationSpec = OperationOf<string>;
/** The matrices of a step and their places: `grid` has the panels' numbers, and null for an empty place. */
export interface PictureSpec {
  panels: PanelSpec[];
  grid: (number | null)[][];
  widths: number[];
  heights: number[];
  /** by the name of the result */
  products: Record<string, ProductSpec>;
  /** how other panels are made, by their names */
  operations: Record<string, OperationSpec>;
  between: string;
}
/** What is said of a step, and its picture. */
export interface StepText {
  name: string;
  title: string;
  /** MathML that is safe to insert as markup; all else is text */
  formula: OfHeads;
  notice: SaidOfHeads;
  fact: SaidOfHeads;
  advice: SaidOfHeads;
  code: OfHeads;
  /** why the step can't show all that it needs */
  missing: string;
  is_by_cell: boolean;
  can_be_covered: boolean;
  can_be_stretched: boolean;
  picture: PictureSpec | null;
}
/** The tokens that the model expects at a masked row, or after a row of a decoder, the likeliest first. */
export interface RowGuesses {
  row: number;
  labels: string[];
  /** their probabilities */
  shares: number[];
}
/** Stands for the guesses among the names of what a document does not hold. */
export const GUESSES = "guesses";
/** An array that is not in the file. */
export type Reference = { digest: string; dtype: string; shape: number[] };
export interface Header extends Pick<AttentionHeader, "scale" | "scale_label" | "mask_value" | "mask_fills" | "cap"> {
  model: string;
  attention: "encoder" | "decoder" | "cross";
  layer: number;
  /** those of the document, in ascending order */
  heads: number[];
  heads_in_layer: number;
  query: Axis;
  /** the same object as `query` where the tokens are the same */
  key: Axis;
  mask: "none" | "causal" | "window" | "padding" | "cross" | "other";
  /** how many heads after one another share a head of keys and values, where they do */
  shared_by?: number;
  /** why cells are hidden, unless `mask` says it */
  mask_reasons?: MaskReasons;
  /** which distances share a number of the position bias, where they do */
  buckets?: Buckets;
  steps: StepText[];
  /** in the order of the rows; none where the model names no tokens, or where they are fetched */
  guesses: RowGuesses[];
  /** the digest of the file with the guesses, where they have to be fetched */
  guesses_at?: string;
  /** what is said of the guesses */
  guesses_note?: string;
  /** by the name of the array */
  references: Record<string, Reference>;
  /**
   * heads step by step; the ways from an average over the past to one head; heads step by step, and the steps around
   * them in a transformer
   */
  kind: "walk" | "averages" | "block";
  /** where the attention is in the model, if the kind is block; else "" */
  place: string;
  version: typeof DOCUMENT_VERSION;
}
export type WalkDocument = { header: Header; arrays: Record<string, Stored> };

const KEY = "attnviz";

const MAX_FORMULA = 20_000; // characters; a longer one may exhaust the stack of regular expressions
const ELEMENTS = "math|mrow|mi|mn|mo|mtext|mspace|msub|msup|munderover|mfrac|mstyle|msqrt";
const ATTRIBUTES = "class|mathvariant|width|displaystyle|stretchy";
/** Elements and attributes of MathML that can't run or load anything, so that a formula may be inserted as markup. */
const FORMULA = new RegExp(
  `^<math display="block">(?:</?(?:${ELEMENTS})(?: (?:${ATTRIBUTES})="[A-Za-z0-9.]*")*>` +
    "|[^<>&]|&(?:lt|gt|amp|quot|#x27);)*</math>$",
);

/**
 * Reads a document.
 * @throws {DocumentError} where this is no document of this version; the message says why in one sentence
 */
export function read(file: Uint8Array): WalkDocument {
  const { metadata, arrays } = readSafetensors(file, "document", ["F32", "BOOL", "U8"]);
  if (!Object.hasOwn(metadata, KEY)) refuse("This safetensors file is not a document of attnviz.");
  const header = parsed(metadata[KEY]);
  header.key ??= header.query; // the same tokens as the queries'
  checkFormulas(header);
  return { header, arrays };
}

/**
 * Adds an array that is not in the file to a document that refers to it.
 * @throws {DocumentError} where it is not as the document says
 */
export function addArray({ header, arrays }: WalkDocument, name: string, { data, shape }: Packed) {
  const { dtype, shape: wanted } = header.references[name];
  const length = wanted.reduce((product, side) => product * side, 1);
  if (shape.join() !== wanted.join() || data.length !== length) refuse(`Array ${name} is not ${wanted.join(" × ")}.`);
  if ((dtype === "F32") !== data instanceof Float32Array) refuse(`Array ${name} is not ${dtype}.`);
  Object.assign(arrays, { [name]: { data, shape, dtype } });
}

function parsed(text: string): Header {
  let header;
  try {
    header = JSON.parse(text);
  } catch {
    return refuse("The document's header is not JSON.");
  }
  if (header?.version !== DOCUMENT_VERSION) {
    refuse(`The document's version is not ${DOCUMENT_VERSION}, the only one that this reader knows.`);
  }
  return header;
}

function checkFormulas({ steps }: Header) {
  if (!Array.isArray(steps)) refuse("header.steps is not a list.");
  for (const [index, step] of steps.entries()) {
    for (const formula of [step?.formula].flat()) {
      if (typeof formula !== "string" || formula.length > MAX_FORMULA || !FORMULA.test(formula)) {
        refuse(`header.steps[${index}].formula is not MathML as attnviz writes it.`);
      }
    }
  }
}
