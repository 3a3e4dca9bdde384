// Reads a document: all that is shown of the heads of a layer, in one safetensors file. docs/document.md describes the
// format; attnviz/document writes it, and checks there that names, shapes and numbers agree.

import { DocumentError, readSafetensors, refuse } from "./safetensors.js";

export { DocumentError };

/**
 * The tokens of the rows (queries) or of the columns (keys).
 * @typedef {object} Axis
 * @property {string} text
 * @property {string | null} pair
 * @property {string[]} labels
 * @property {number[]} ids a negative one stands for none
 * @property {string[]} covers the characters of the text that each token stands for
 * @property {string[]} places where these are; "" for a token that the tokenizer added
 * @property {number[]} segments 1 for tokens of the second text
 * @property {boolean[]} unknown whether a token replaces characters that are not in the vocabulary
 */
/** One text of all heads, or one for each in the order of `heads`.
 * @typedef {string | string[]} OfHeads
 */
/** The same of texts whose words may name parts of the picture.
 * @typedef {SaidText | SaidText[]} SaidOfHeads
 */
/**
 * One matrix of a picture. `limit` ends its colours: a number, the largest finite magnitude in these matrices together,
 * or null for the one in this matrix; 1 where that is 0. If `stretched` is not "", it is the title when colours are
 * darkened, with {} in place of the number at which they end (core/dark_end.js).
 * @typedef {object} PanelSpec
 * @property {string} name
 * @property {OfHeads} title
 * @property {string} rows
 * @property {string} cols
 * @property {"query" | "key" | "value" | "attention" | null} role
 * @property {{ name: string, pace: Pace } | null} made_from
 * @property {number | string[] | null} limit
 * @property {"signed" | "weights"} scale
 * @property {string} stretched
 * @property {boolean} bar
 * @property {boolean} numbered
 * @property {Record<string, string>} ticks labels of columns that are not tokens, by their number
 * @property {number | null} part_width of concatenated heads: the columns of one
 */
/** The names of two matrices, and of a vector that is added.
 * @typedef {{ left: string, right: string, bias: string | null }} ProductSpec
 */
/**
 * How a matrix is made of others in a way that is no product: attnviz/steps/picture.py describes it. What its kind does
 * not use is null.
 * @typedef {object} OperationSpec
 * @property {"sum" | "norm" | "activation" | "softmax"} kind
 * @property {string[]} of the names of the matrices that it is made of: one, or the summands
 * @property {string | null} weight the name of a norm's weight, a vector
 * @property {string | null} bias
 * @property {number | null} eps what a norm adds to the variance
 * @property {"token" | "all" | null} over what a norm takes mean and variance of
 * @property {"relu" | "gelu" | "gelu_tanh" | null} name the activation
 */
/**
 * The matrices of a step and their places: `grid` has the panels' numbers, and null for an empty place.
 * @typedef {object} PictureSpec
 * @property {PanelSpec[]} panels
 * @property {(number | null)[][]} grid
 * @property {number[]} widths
 * @property {number[]} heights
 * @property {Record<string, ProductSpec>} products by the name of the result
 * @property {Record<string, OperationSpec>} operations how other panels are made, by their names
 * @property {string} between
 */
/**
 * What is said of a step, and its picture.
 * @typedef {object} StepText
 * @property {string} name
 * @property {string} title
 * @property {OfHeads} formula MathML that is safe to insert as markup; all else is text
 * @property {SaidOfHeads} notice
 * @property {SaidOfHeads} fact
 * @property {SaidOfHeads} advice
 * @property {OfHeads} code
 * @property {string} missing why the step can't show all that it needs
 * @property {boolean} is_by_cell
 * @property {boolean} can_be_covered
 * @property {boolean} can_be_stretched
 * @property {PictureSpec | null} picture
 */
/** An array that is not in the file.
 * @typedef {{ digest: string, dtype: string, shape: number[] }} Reference
 */
/**
 * @typedef {object} Header
 * @property {string} model
 * @property {"encoder" | "decoder" | "cross"} attention
 * @property {number} layer
 * @property {number[]} heads those of the document, in ascending order
 * @property {number} heads_in_layer
 * @property {Axis} query
 * @property {Axis} key the same object as `query` where the tokens are the same
 * @property {number} scale
 * @property {string} scale_label
 * @property {"none" | "causal" | "window" | "padding" | "cross" | "other"} mask
 * @property {number | null} mask_value what is filled into hidden cells; null is −∞
 * @property {"scaled" | "scores"} mask_fills the matrix that it is filled into: after the scaling, or before it
 * @property {StepText[]} steps
 * @property {Record<string, Reference>} references by the name of the array
 * @property {"walk" | "averages" | "block"} kind heads step by step; the ways from an average over the past to one
 *   head; heads step by step, and the steps around them in a transformer
 * @property {string} place where the attention is in the model, if the kind is block; else ""
 * @property {5} version
 */
/** @typedef {{ header: Header, arrays: Record<string, import("./safetensors.js").Stored> }} WalkDocument */

const KEY = "attnviz";
const VERSION = 5;

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
 * @param {Uint8Array} file
 * @returns {WalkDocument}
 * @throws {DocumentError} where this is no document of this version; the message says why in one sentence
 */
export function read(file) {
  const { metadata, arrays } = readSafetensors(file);
  if (!Object.hasOwn(metadata, KEY)) refuse("This safetensors file is not a document of attnviz.");
  const header = parsed(metadata[KEY]);
  header.key ??= header.query; // the same tokens as the queries'
  checkFormulas(header);
  return { header, arrays };
}

/**
 * Adds an array that is not in the file to a document that refers to it.
 * @param {WalkDocument} document @param {string} name @param {Packed} array
 * @throws {DocumentError} where it is not as the document says
 */
export function addArray({ header, arrays }, name, { data, shape }) {
  const { dtype, shape: wanted } = header.references[name];
  const length = wanted.reduce((product, side) => product * side, 1);
  if (shape.join() !== wanted.join() || data.length !== length) refuse(`Array ${name} is not ${wanted.join(" × ")}.`);
  if ((dtype === "F32") !== data instanceof Float32Array) refuse(`Array ${name} is not ${dtype}.`);
  Object.assign(arrays, { [name]: { data, shape, dtype } });
}

/** @param {string} text @returns {Header} */
function parsed(text) {
  let header;
  try {
    header = JSON.parse(text);
  } catch {
    return refuse("The document's header is not JSON.");
  }
  if (header?.version !== VERSION) {
    refuse(`The document's version is not ${VERSION}, the only one that this reader knows.`);
  }
  return header;
}

/** @param {Header} header */
function checkFormulas({ steps }) {
  if (!Array.isArray(steps)) refuse("header.steps is not a list.");
  for (const [index, step] of steps.entries()) {
    for (const formula of [step?.formula].flat()) {
      if (typeof formula !== "string" || formula.length > MAX_FORMULA || !FORMULA.test(formula)) {
        refuse(`header.steps[${index}].formula is not MathML as attnviz writes it.`);
      }
    }
  }
}
