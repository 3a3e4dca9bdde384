// What every document must hold. attnviz/document/checks.py has the same checks, in the same order and words.

import { refuse } from "./safetensors.js";

/** @typedef {import("./document.js").Header} Header */
/** @typedef {import("./document.js").StepText} StepText */

export const MAX_TOKENS = 4096;
export const MASKS = ["none", "causal", "padding", "cross", "other"];

/**
 * The arrays and their axes. Without `embeddings_k`, keys and values are made of `embeddings`: key_model is model.
 * @type {Record<string, string[]>}
 */
export const ARRAYS = {
  token_embeddings: ["query", "model"],
  positions: ["query", "model"],
  embeddings: ["query", "model"],
  embeddings_k: ["key", "key_model"],
  W_query: ["model", "dim"],
  W_key: ["key_model", "dim"],
  W_value: ["key_model", "value_dim"],
  U_query: ["query", "key"],
  U_key: ["key", "key"],
  U_value: ["key", "key"],
  b_query: ["dim"],
  b_key: ["dim"],
  b_value: ["value_dim"],
  query: ["query", "dim"],
  key: ["key", "dim"],
  value: ["key", "value_dim"],
  mask: ["query", "key"],
  W_output_head: ["value_dim", "output"],
  b_output: ["output"],
};
const REQUIRED = ["query", "key", "value"];

/** What a step may show beside the arrays. */
export const COMPUTED = [
  ...["key_t", "scores", "scaled", "masked", "weights", "row_sum", "head_outputs"],
  ...["concat", "W_output", "output"],
];

const MAX_FORMULA = 20_000; // characters; a longer one may exhaust the stack of regular expressions
const ELEMENTS = "math|mrow|mi|mn|mo|mtext|mspace|msub|msup|munderover|mfrac|mstyle|msqrt";
const ATTRIBUTES = "class|mathvariant|width|displaystyle|stretchy";
/** Elements and attributes of MathML that can't run or load anything, so that a formula may be inserted as markup. */
export const FORMULA = new RegExp(
  `^<math display="block">(?:</?(?:${ELEMENTS})(?: (?:${ATTRIBUTES})="[A-Za-z0-9.]*")*>` +
    "|[^<>&]|&(?:lt|gt|amp|quot|#x27);)*</math>$",
);

/** @param {Header} header @throws {import("./safetensors.js").DocumentError} */
export function checkHeader(header) {
  for (const [name, { labels, ids }] of Object.entries({ query: header.query, key: header.key })) {
    const [many, most] = [labels.length, MAX_TOKENS].map((n) => n.toLocaleString("en-US"));
    if (labels.length < 1 || labels.length > MAX_TOKENS) {
      refuse(`header.${name} has ${many} labels; a document has 1 to ${most}.`);
    }
    if (ids.length !== labels.length) {
      refuse(`header.${name} has ${many} labels and ${ids.length.toLocaleString("en-US")} ids.`);
    }
  }
  if (Math.min(header.layer, header.head) < 0) refuse("header.layer and header.head are counted from 0.");
  if (!MASKS.includes(header.mask)) refuse(`header.mask is not one of ${MASKS.join(", ")}.`);
  for (const [index, step] of header.steps.entries()) checkStep(`header.steps[${index}]`, step);
}

/** @param {string} path @param {StepText} step */
function checkStep(path, step) {
  if (step.formula.length > MAX_FORMULA || !FORMULA.test(step.formula)) {
    refuse(`${path}.formula is not MathML as attnviz writes it.`);
  }
  const names = step.matrices.flat().filter((name) => name !== null);
  if (!names.every((name) => Object.hasOwn(ARRAYS, name) || COMPUTED.includes(name))) {
    refuse(`${path}.matrices names an unknown matrix.`);
  }
}

/** @param {Header} header @param {Arrays} arrays @throws {import("./safetensors.js").DocumentError} */
export function checkArrays(header, arrays) {
  if (!Object.keys(arrays).every((name) => Object.hasOwn(ARRAYS, name))) {
    refuse("The document has an array with an unknown name.");
  }
  for (const name of REQUIRED) {
    if (!Object.hasOwn(arrays, name)) refuse(`Array ${name} is missing.`);
  }
  const masked = Object.hasOwn(arrays, "mask");
  if (masked === ["none", "causal"].includes(header.mask)) {
    refuse(`A mask of the kind ${header.mask} has ${masked ? "no" : "an"} array.`);
  }
  if (header.mask === "causal" && header.query.labels.length !== header.key.labels.length) {
    refuse("A causal mask needs as many queries as keys.");
  }
  checkShapes(header, arrays);
  for (const name of Object.keys(ARRAYS)) {
    if (Object.hasOwn(arrays, name)) checkNumbers(name, arrays[name].data);
  }
}

/**
 * Axes of one name have one length; those of the tokens have as many places as labels.
 * @param {Header} header @param {Arrays} arrays
 */
function checkShapes(header, arrays) {
  /** @type {Record<string, number>} */
  const sizes = { query: header.query.labels.length, key: header.key.labels.length };
  const crosses = Object.hasOwn(arrays, "embeddings_k");
  for (const [name, listed] of Object.entries(ARRAYS)) {
    if (!Object.hasOwn(arrays, name)) continue;
    const axes = crosses ? listed : listed.map((axis) => axis.replace("key_model", "model"));
    const { shape } = arrays[name];
    const fits = shape.every((size, n) => size > 0 && (sizes[axes[n]] ?? size) === size);
    if (shape.length !== axes.length || !fits) {
      const wanted = axes.map((axis) => sizes[axis] ?? axis).join(" × ");
      refuse(`Array ${name} is ${shape.join(" × ")}; it must be ${wanted}.`);
    }
    for (const [n, axis] of axes.entries()) sizes[axis] = shape[n];
  }
}

/**
 * Numbers are finite float32. A mask may also be bool, or hold −∞ where a query must not look.
 * @param {string} name @param {Numbers} data
 */
function checkNumbers(name, data) {
  if (name === "mask" && data instanceof Uint8Array) {
    if (data.some((byte) => byte > 1)) refuse("Array mask holds a byte that is neither 0 nor 1.");
    return;
  }
  if (!(data instanceof Float32Array)) refuse(`Array ${name} is not float32.`);
  if (!data.every((x) => Number.isFinite(x) || (name === "mask" && x === -Infinity))) {
    refuse(`Array ${name} holds a number that is not finite.`);
  }
}
