// Reads a document: all that is shown of the heads of a layer, in one safetensors file. docs/document.md describes the
// format; attnviz/document writes it, and refuses the same files in the same words.

import { checkArrays, checkHeader, checkNumbers, DOCUMENT_KINDS } from "./checks.js";
import { areSaid, checkMarks, checkTargets } from "./mark_checks.js";
import { checkPictures } from "./picture_checks.js";
import { DocumentError, isObject, readSafetensors, refuse } from "./safetensors.js";

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

const AXIS = {
  ...{ text: "a text", pair: "a text or null", labels: ["a text"], ids: ["a whole number"], covers: ["a text"] },
  ...{ places: ["a text"], segments: ["a whole number"], unknown: ["true or false"] },
};
const PANEL = {
  ...{ name: "a text", title: "a text or a list of texts", rows: "a text", cols: "a text" },
  ...{ role: "a text or null", made_from: { "?": { name: "a text", pace: "a text" } } },
  ...{ limit: "a number, a list of texts or null", scale: "a text", stretched: "a text", bar: "true or false" },
  ...{ numbered: "true or false", ticks: "texts by column", part_width: "a whole number or null" },
};
const OPERATION = {
  ...{ kind: "a text", of: ["a text"], weight: "a text or null", bias: "a text or null" },
  ...{ eps: "a number or null", over: "a text or null", name: "a text or null" },
};
const PICTURE = {
  ...{ panels: [PANEL], grid: [["a whole number or null"]], widths: ["a number"], heights: ["a number"] },
  products: { "*": { left: "a text", right: "a text", bias: "a text or null" } },
  operations: { "*": OPERATION },
  between: "a text",
};
const OF_HEADS = "a text or a list of texts";
const SAID = "a text, plain or marked, or a list of these";
const STEP = {
  ...{ name: "a text", title: "a text", formula: OF_HEADS, notice: SAID, fact: SAID, advice: SAID },
  ...{ code: OF_HEADS, missing: "a text" },
  ...{ is_by_cell: "true or false", can_be_covered: "true or false", can_be_stretched: "true or false" },
  picture: { "?": PICTURE },
};
/** What the JSON must be: a list has any number of such entries, an object exactly these keys. {"*": x} is an object
 * with any keys, {"?": x} may also be null. */
const HEADER = {
  ...{ model: "a text", attention: "a text", layer: "a whole number", heads: ["a whole number"] },
  ...{ heads_in_layer: "a whole number", query: AXIS, key: AXIS, scale: "a number", scale_label: "a text" },
  ...{ mask: "a text", mask_value: "a number or null", mask_fills: "a text", steps: [STEP] },
  references: { "*": { digest: "a text", dtype: "a text", shape: ["a whole number"] } },
  ...{ kind: "a text", place: "a text", version: "a whole number" },
};

/** @param {unknown} value */
const isText = (value) => typeof value === "string";
/** @param {unknown} value */
const areTexts = (value) => Array.isArray(value) && value.every(isText);

/** @type {Record<string, (value: unknown) => boolean>} */
const IS = {
  "a text": isText,
  "a text or null": (value) => value === null || isText(value),
  "a text or a list of texts": (value) => isText(value) || areTexts(value),
  [SAID]: areSaid,
  "a number, a list of texts or null": (value) => value === null || Number.isFinite(value) || areTexts(value),
  "a whole number": (value) => Number.isSafeInteger(value),
  "a whole number or null": (value) => value === null || Number.isSafeInteger(value),
  "a number or null": (value) => value === null || Number.isFinite(value),
  "a number": (value) => Number.isFinite(value),
  "true or false": (value) => typeof value === "boolean",
  "texts by column": (value) =>
    isObject(value) && Object.entries(value).every(([column, text]) => COLUMN.test(column) && isText(text)),
};
const COLUMN = /^(?:0|[1-9][0-9]{0,8})$/;

/**
 * Reads a document from a file that may come from anywhere.
 * @param {Uint8Array} file
 * @returns {WalkDocument}
 * @throws {DocumentError} where this is no document, or one that can't be shown; the message says why in one sentence
 */
export function read(file) {
  const { metadata, arrays } = readSafetensors(file);
  if (!Object.hasOwn(metadata, KEY)) refuse("This safetensors file is not a document of attnviz.");
  const header = readHeader(metadata[KEY]);
  checkHeader(header);
  checkMarks(header);
  const sizes = checkArrays(header, arrays);
  checkPictures({ header, given: new Set([...Object.keys(arrays), ...Object.keys(header.references)]), sizes });
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
  const stored = { data, shape, dtype };
  checkNumbers(name, stored);
  Object.assign(arrays, { [name]: stored });
}

/** @param {string} text @returns {Header} */
function readHeader(text) {
  const header = parsed(text);
  if (isObject(header)) {
    if (header.version !== VERSION) {
      refuse(`The document's version is not ${VERSION}, the only one that this reader knows.`);
    }
    if (!DOCUMENT_KINDS.includes(/** @type {any} */ (header.kind))) {
      refuse(`The document's kind is not one of ${DOCUMENT_KINDS.join(", ")}.`);
    }
    if (header.key === null) header.key = header.query; // the same tokens as the queries'
  }
  checkJson(header, HEADER, "header");
  checkTargets(/** @type {any} */ (header));
  return /** @type {any} */ (header);
}

/** @param {string} text @returns {unknown} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return refuse("The document's header is not JSON.");
  }
}

/**
 * Refuses JSON that is not as `HEADER` says.
 * @param {unknown} value @param {unknown} wanted @param {string} path
 */
function checkJson(value, wanted, path) {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(value)) return refuse(`${path} is not a list.`);
    value.forEach((entry, index) => checkJson(entry, wanted[0], `${path}[${index}]`));
  } else if (!isObject(wanted)) {
    if (!IS[String(wanted)](value)) refuse(`${path} is not ${wanted}.`);
  } else if ("?" in wanted) {
    if (value !== null) checkJson(value, wanted["?"], path);
  } else if ("*" in wanted) {
    if (!isObject(value)) return refuse(`${path} is not an object.`);
    for (const entry of Object.values(value)) checkJson(entry, wanted["*"], `An entry of ${path}`);
  } else {
    checkFields(value, wanted, path);
  }
}

/** @param {unknown} value @param {Record<string, unknown>} wanted @param {string} path */
function checkFields(value, wanted, path) {
  const keys = Object.keys(wanted);
  const has = (/** @type {string} */ key) => Object.hasOwn(/** @type {object} */ (value), key);
  if (!isObject(value) || Object.keys(value).length !== keys.length || !keys.every(has)) {
    return refuse(`${path} is not an object with ${keys.join(", ")}.`);
  }
  for (const key of keys) checkJson(value[key], wanted[key], `${path}.${key}`);
}
