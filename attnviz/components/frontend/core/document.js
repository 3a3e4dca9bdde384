// Reads a document: all that is shown of one head, in one safetensors file. docs/document.md describes the format;
// attnviz/document/files.py writes it, and refuses the same files in the same words.

import { checkArrays, checkHeader } from "./checks.js";
import { DocumentError, isObject, readSafetensors, refuse } from "./safetensors.js";

export { DocumentError };

/**
 * The tokens of the rows (queries) or of the columns (keys).
 * @typedef {{ text: string, pair: string | null, labels: string[], ids: number[] }} Axis
 */
/**
 * What is said of a step, and the matrices in the rows of its picture; null is an empty place.
 * @typedef {object} StepText
 * @property {string} name
 * @property {string} title
 * @property {string} formula MathML that is safe to insert as markup; all else is text
 * @property {string} notice
 * @property {string} fact
 * @property {string} code
 * @property {(string | null)[][]} matrices
 */
/**
 * @typedef {object} Header
 * @property {string} source
 * @property {Axis} query
 * @property {Axis} key the same object as `query` where the tokens are the same
 * @property {number} layer
 * @property {number} head
 * @property {number} scale
 * @property {"none" | "causal" | "padding" | "cross" | "other"} mask
 * @property {StepText[]} steps
 * @property {"walk"} kind
 * @property {1} version
 */
/** @typedef {{ header: Header, arrays: Arrays }} WalkDocument */

const KEY = "attnviz";
const VERSION = 1;

const AXIS = { text: "a text", pair: "a text or null", labels: ["a text"], ids: ["a whole number"] };
const STEP = {
  ...{ name: "a text", title: "a text", formula: "a text", notice: "a text", fact: "a text", code: "a text" },
  matrices: [["a text or null"]],
};
/** What the JSON must be: an object has exactly these keys, a list any number of such entries. */
const HEADER = {
  source: "a text",
  query: AXIS,
  key: AXIS,
  layer: "a whole number",
  head: "a whole number",
  scale: "a number",
  mask: "a text",
  steps: [STEP],
  kind: "a text",
  version: "a whole number",
};

/** @type {Record<string, (value: unknown) => boolean>} */
const IS = {
  "a text": (value) => typeof value === "string",
  "a text or null": (value) => value === null || typeof value === "string",
  "a whole number": (value) => Number.isSafeInteger(value),
  "a number": (value) => Number.isFinite(value),
};

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
  checkArrays(header, arrays);
  return { header, arrays };
}

/** @param {string} text @returns {Header} */
function readHeader(text) {
  const header = parsed(text);
  if (isObject(header)) {
    if (header.version !== VERSION) {
      refuse(`The document's version is not ${VERSION}, the only one that this reader knows.`);
    }
    if (header.kind !== "walk") refuse("The document's kind is not walk, the only one that this reader knows.");
    if (header.key === null) header.key = header.query; // the same tokens as the queries'
  }
  checkJson(header, HEADER, "header");
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
  } else if (isObject(wanted)) {
    const keys = Object.keys(wanted);
    if (
      !isObject(value) ||
      Object.keys(value).length !== keys.length ||
      !keys.every((key) => Object.hasOwn(value, key))
    ) {
      return refuse(`${path} is not an object with ${keys.join(", ")}.`);
    }
    for (const key of keys) checkJson(value[key], wanted[key], `${path}.${key}`);
  } else if (!IS[String(wanted)](value)) {
    refuse(`${path} is not ${wanted}.`);
  }
}
