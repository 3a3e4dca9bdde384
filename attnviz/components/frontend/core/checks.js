// What every document must hold. attnviz/document/checks.py has the same checks, in the same order and words.

import { MAX_BYTES, refuse } from "./safetensors.js";

/** @typedef {import("./document.js").Header} Header */
/** @typedef {import("./document.js").StepText} StepText */
/** @typedef {import("./document.js").OfHeads} OfHeads */
/** @typedef {import("./safetensors.js").Stored} Stored */

export const MAX_TOKENS = 4096;
const MAX_HEADS = 1024;
export const MASKS = ["none", "causal", "window", "padding", "cross", "other"];
const FILLED = ["scaled", "scores"];
export const KINDS = ["encoder", "decoder", "cross"];
export const DOCUMENT_KINDS = ["walk", "averages", "block"];
/** The results of LayerNorms, each with the arrays of its weight and bias: gamma_<name>, beta_<name>. */
const NORMS = ["input_norm", "attention_norm", "feed_forward_norm", "block_output", "final_norm", "transform_norm"];

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
  concat: ["query", "concat"],
  W_output: ["concat", "output"],
  b_output: ["output"],
  output: ["query", "output"],
  by_loop: ["query", "model"],
  by_matrix: ["query", "model"],
  by_softmax: ["query", "model"],
  input_norm: ["query", "model"],
  attention_residual: ["query", "model"],
  attention_norm: ["query", "model"],
  feed_forward_norm: ["query", "model"],
  W_1: ["model", "hidden"],
  b_1: ["hidden"],
  feed_forward_inner: ["query", "hidden"],
  feed_forward_hidden: ["query", "hidden"],
  W_2: ["hidden", "model"],
  b_2: ["model"],
  feed_forward_output: ["query", "model"],
  feed_forward_residual: ["query", "model"],
  block_output: ["query", "model"],
  final_norm: ["query", "model"],
  W_transform: ["model", "model"],
  b_transform: ["model"],
  transform_inner: ["query", "model"],
  transform_hidden: ["query", "model"],
  transform_norm: ["query", "model"],
  W_vocabulary: ["model", "vocabulary"],
  b_vocabulary: ["vocabulary"],
  logits: ["query", "vocabulary"],
  logits_and_rest: ["query", "outcome"],
  probabilities: ["query", "outcome"],
  ...Object.fromEntries(NORMS.flatMap((norm) => ["gamma", "beta"].map((letter) => [`${letter}_${norm}`, ["model"]]))),
  thumbnails: ["head", "rows", "columns"],
  hidden_thumbnail: ["rows", "columns"],
};
/** The arrays of a head: head 5's query is `query/5`. A mask that all heads share is `mask`. */
export const OF_HEAD = [
  ...["W_query", "W_key", "W_value", "U_query", "U_key", "U_value", "b_query", "b_key", "b_value"],
  ...["query", "key", "value", "mask"],
];
const REQUIRED = ["query", "key", "value"];
/** What a document of averages has too: X, and its means over the past, each in its own way. */
const AVERAGES = ["embeddings", "by_loop", "by_matrix", "by_softmax"];

/**
 * What follows from the arrays, so that no document holds it, with its axes.
 * @type {Record<string, string[]>}
 */
export const COMPUTED = {
  key_t: ["dim", "key"],
  scores: ["query", "key"],
  scaled: ["query", "key"],
  masked: ["query", "key"],
  weights: ["query", "key"],
  row_sum: ["query", "one"],
  head_outputs: ["query", "value_dim"],
  triangle: ["query", "key"],
  masked_zeros: ["query", "key"],
  softmax_weights: ["query", "key"],
  by_data: ["query", "value_dim"],
};

/** @type {Record<string, string[]>} the dtypes of arrays that are not F32 */
export const DTYPES = { mask: ["F32", "BOOL"], thumbnails: ["U8"], hidden_thumbnail: ["U8"] };
/** @type {Record<string, number>} */
const BYTES = { F32: 4, BOOL: 1, U8: 1 };
export const DIGEST = /^[A-Za-z0-9_~-]{1,128}$/;

const MAX_FORMULA = 20_000; // characters; a longer one may exhaust the stack of regular expressions
const ELEMENTS = "math|mrow|mi|mn|mo|mtext|mspace|msub|msup|munderover|mfrac|mstyle|msqrt";
const ATTRIBUTES = "class|mathvariant|width|displaystyle|stretchy";
/** Elements and attributes of MathML that can't run or load anything, so that a formula may be inserted as markup. */
export const FORMULA = new RegExp(
  `^<math display="block">(?:</?(?:${ELEMENTS})(?: (?:${ATTRIBUTES})="[A-Za-z0-9.]*")*>` +
    "|[^<>&]|&(?:lt|gt|amp|quot|#x27);)*</math>$",
);

/** @param {number} n */
const grouped = (n) => n.toLocaleString("en-US");

/** @param {Header} header @throws {import("./safetensors.js").DocumentError} */
export function checkHeader(header) {
  for (const [name, axis] of Object.entries({ query: header.query, key: header.key })) {
    const { length } = axis.labels;
    if (length < 1 || length > MAX_TOKENS) {
      refuse(`header.${name} has ${grouped(length)} labels; a document has 1 to ${grouped(MAX_TOKENS)}.`);
    }
    for (const column of /** @type {const} */ (["ids", "covers", "places", "segments", "unknown"])) {
      const count = axis[column].length;
      if (count !== length) refuse(`header.${name} has ${grouped(length)} labels and ${grouped(count)} ${column}.`);
    }
  }
  const { heads, heads_in_layer: all } = header;
  if (header.layer < 0) refuse("header.layer is counted from 0.");
  if ((header.place !== "") !== (header.kind === "block")) {
    refuse("A document of the kind block has a place, and no other has one.");
  }
  if (all < 1 || all > MAX_HEADS) refuse(`header.heads_in_layer is not from 1 to ${grouped(MAX_HEADS)}.`);
  const inOrder = heads.every((head, index) => head >= 0 && head < all && (index === 0 || head > heads[index - 1]));
  if (!inOrder || heads.length === 0) refuse("header.heads are not heads of the layer in ascending order.");
  if (!MASKS.includes(header.mask)) refuse(`header.mask is not one of ${MASKS.join(", ")}.`);
  if (!FILLED.includes(header.mask_fills)) refuse(`header.mask_fills is not one of ${FILLED.join(", ")}.`);
  if (!KINDS.includes(header.attention)) refuse(`header.attention is not one of ${KINDS.join(", ")}.`);
  for (const [index, step] of header.steps.entries()) checkStep(`header.steps[${index}]`, step, heads.length);
}

/** @param {string} path @param {StepText} step @param {number} heads */
function checkStep(path, step, heads) {
  for (const [name, texts] of Object.entries({
    formula: step.formula,
    notice: step.notice,
    fact: step.fact,
    advice: step.advice,
    code: step.code,
  })) {
    checkTexts(`${path}.${name}`, texts, heads);
  }
  for (const formula of [step.formula].flat()) {
    if (formula.length > MAX_FORMULA || !FORMULA.test(formula)) {
      refuse(`${path}.formula is not MathML as attnviz writes it.`);
    }
  }
}

/** @param {string} path @param {import("./document.js").SaidOfHeads} texts @param {number} heads */
export function checkTexts(path, texts, heads) {
  if (Array.isArray(texts) && texts.length !== heads) {
    refuse(`${path} has ${grouped(texts.length)} texts for ${grouped(heads)} heads.`);
  }
}

/**
 * The names of all arrays that a document with this header may have, with their axes.
 * @param {Header} header
 * @returns {Map<string, string[]>}
 */
function possible(header) {
  const found = new Map();
  for (const [name, axes] of Object.entries(ARRAYS)) {
    if (OF_HEAD.includes(name)) for (const head of header.heads) found.set(`${name}/${head}`, axes);
    if (!OF_HEAD.includes(name) || name === "mask") found.set(name, axes);
  }
  return found;
}

/**
 * @param {Header} header @param {Record<string, Stored>} arrays
 * @returns {Record<string, number>} the lengths of the axes
 * @throws {import("./safetensors.js").DocumentError}
 */
export function checkArrays(header, arrays) {
  const { heads, references } = header;
  const names = possible(header);
  if (![...Object.keys(arrays), ...Object.keys(references)].every((name) => names.has(name))) {
    refuse("The document has an array with an unknown name.");
  }
  for (const name of names.keys()) {
    if (Object.hasOwn(references, name)) checkReference(name, references[name], Object.hasOwn(arrays, name));
  }
  const shapes = new Map(Object.entries({ ...references, ...arrays }).map(([name, { shape }]) => [name, shape]));
  for (const name of REQUIRED.flatMap((one) => heads.map((head) => `${one}/${head}`))) {
    if (!shapes.has(name)) refuse(`Array ${name} is missing.`);
  }
  if (header.kind === "averages") checkAverages(header, shapes);
  if (!heads.some((head) => REQUIRED.every((name) => Object.hasOwn(arrays, `${name}/${head}`)))) {
    refuse("The file has query, key and value of none of its heads.");
  }
  checkMasks(header, shapes);
  const sizes = checkShapes(header, shapes, names);
  for (const name of names.keys()) if (Object.hasOwn(arrays, name)) checkNumbers(name, arrays[name]);
  return sizes;
}

/** @param {Header} header @param {Map<string, number[]>} shapes */
function checkAverages({ mask, mask_value: value, heads_in_layer: heads }, shapes) {
  for (const name of AVERAGES) if (!shapes.has(name)) refuse(`Array ${name} is missing.`);
  if (mask !== "causal" || value !== null || heads !== 1) {
    refuse("A document of averages has one head and a causal mask of −∞.");
  }
}

/** @param {string} name @param {import("./document.js").Reference} reference @param {boolean} isHeld */
function checkReference(name, { digest, dtype, shape }, isHeld) {
  if (isHeld) refuse(`Array ${name} is in the file, and not in the file.`);
  if (!DIGEST.test(digest)) refuse(`Array ${name} has a digest that is not of letters and digits.`);
  checkDtype(name, dtype);
  if (shape.reduce((product, side) => product * side, 1) * BYTES[dtype] > MAX_BYTES) {
    refuse(`Array ${name} has more than ${grouped(MAX_BYTES)} bytes.`);
  }
}

/** @param {string} name @param {string} dtype */
function checkDtype(name, dtype) {
  const allowed = DTYPES[name.split("/")[0]] ?? ["F32"];
  if (!allowed.includes(dtype)) refuse(`Array ${name} is not ${allowed.join(" or ")}.`);
}

/**
 * There is a mask, or one for each head, if its kind does not say it.
 * @param {Header} header @param {Map<string, number[]>} shapes
 */
function checkMasks({ mask, heads, query, key }, shapes) {
  const ofHeads = heads.filter((head) => shapes.has(`mask/${head}`)).length;
  if (["none", "causal"].includes(mask)) {
    if (shapes.has("mask") || ofHeads > 0) refuse(`A mask of the kind ${mask} has no array.`);
  } else if (ofHeads !== (shapes.has("mask") ? 0 : heads.length)) {
    refuse(`A mask of the kind ${mask} has one array, or one for each head.`);
  }
  if (mask === "causal" && query.labels.length !== key.labels.length) {
    refuse("A causal mask needs as many queries as keys.");
  }
}

/**
 * Axes of one name have one length; those of the tokens have as many places as labels.
 * @param {Header} header @param {Map<string, number[]>} shapes @param {Map<string, string[]>} names
 */
function checkShapes(header, shapes, names) {
  const { query, key, heads_in_layer: heads } = header;
  /** @type {Record<string, number>} */
  const sizes = { query: query.labels.length, key: key.labels.length, head: heads, one: 1 };
  const crosses = shapes.has("embeddings_k");
  for (const [name, listed] of names) {
    const shape = shapes.get(name);
    if (!shape) continue;
    const axes = crosses ? listed : listed.map((axis) => axis.replace("key_model", "model"));
    const fits = shape.every((size, n) => size > 0 && (sizes[axes[n]] ?? size) === size);
    if (shape.length !== axes.length || !fits) {
      const wanted = axes.map((axis) => sizes[axis] ?? axis).join(" × ");
      refuse(`Array ${name} is ${shape.join(" × ")}; it must be ${wanted}.`);
    }
    for (const [n, axis] of axes.entries()) sizes[axis] = shape[n];
    if (sizes.value_dim) sizes.concat = heads * sizes.value_dim;
  }
  if (!crosses && sizes.model) sizes.key_model = sizes.model;
  return sizes;
}

/**
 * Numbers are finite float32. A mask may also be bool, or hold −∞ where a query must not look.
 * @param {string} name @param {Stored} array
 */
export function checkNumbers(name, { data, dtype }) {
  checkDtype(name, dtype);
  if (dtype === "BOOL" && data.some((byte) => byte > 1)) {
    refuse(`Array ${name} holds a byte that is neither 0 nor 1.`);
  }
  const mayHide = name.startsWith("mask");
  if (dtype === "F32" && !data.every((x) => Number.isFinite(x) || (mayHide && x === -Infinity))) {
    refuse(`Array ${name} holds a number that is not finite.`);
  }
}
