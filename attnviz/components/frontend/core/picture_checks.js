// What the pictures of a document must be. attnviz/document/pictures.py has the same checks in the same order and
// words.

import { ARRAYS, checkTexts, COMPUTED, OF_HEAD } from "./checks.js";
import { refuse } from "./safetensors.js";

/** @typedef {import("./document.js").Header} Header */
/** @typedef {import("./document.js").PanelSpec} PanelSpec */
/** @typedef {import("./document.js").PictureSpec} PictureSpec */
/** What a picture is checked against: the header, the names of all arrays, and the lengths of the axes.
 * @typedef {{ header: Header, given: Set<string>, sizes: Record<string, number> }} Context
 */

const MAX_PANELS = 16;
export const ROLES = ["query", "key", "value", "attention"];
export const SCALES = ["signed", "weights"];
export const PACES = ["even", "columns", "rows"];
export const OPERATIONS = ["sum", "norm", "activation", "softmax"];
export const OVER = ["token", "all"];
export const ACTIVATIONS = ["relu", "gelu", "gelu_tanh"];

/**
 * The kinds of rows and columns of each matrix that a picture may show.
 * @type {Record<string, string[]>}
 */
export const AXES = {
  token_embeddings: ["query", "model"],
  positions: ["query", "model"],
  embeddings: ["query", "model"],
  embeddings_k: ["key", "model"],
  W_query: ["model", "dim"],
  W_key: ["model", "dim"],
  W_value: ["model", "dim"],
  U_query: ["query", "key"],
  U_key: ["key", "key"],
  U_value: ["key", "key"],
  query: ["query", "dim"],
  key: ["key", "dim"],
  key_t: ["dim", "key"],
  value: ["key", "dim"],
  scores: ["query", "key"],
  scaled: ["query", "key"],
  masked: ["query", "key"],
  weights: ["query", "key"],
  row_sum: ["query", ""],
  head_outputs: ["query", "dim"],
  concat: ["query", "concat"],
  W_output: ["concat", "model"],
  output: ["query", "model"],
  triangle: ["query", "key"],
  masked_zeros: ["query", "key"],
  softmax_weights: ["query", "key"],
  by_loop: ["query", "model"],
  by_matrix: ["query", "model"],
  by_softmax: ["query", "model"],
  by_data: ["query", "model"],
  input_norm: ["query", "model"],
  attention_residual: ["query", "model"],
  attention_norm: ["query", "model"],
  feed_forward_norm: ["query", "model"],
  feed_forward_output: ["query", "model"],
  feed_forward_residual: ["query", "model"],
  block_output: ["query", "model"],
  final_norm: ["query", "model"],
  transform_inner: ["query", "model"],
  transform_hidden: ["query", "model"],
  transform_norm: ["query", "model"],
  W_1: ["model", "hidden"],
  W_2: ["hidden", "model"],
  feed_forward_inner: ["query", "hidden"],
  feed_forward_hidden: ["query", "hidden"],
  W_transform: ["model", "model"],
  logits_and_rest: ["query", "vocabulary"],
  W_vocabulary: ["model", "vocabulary"],
  logits: ["query", "vocabulary"],
  probabilities: ["query", "vocabulary"],
};

/** @param {Context} context @throws {import("./safetensors.js").DocumentError} */
export function checkPictures(context) {
  for (const [index, { picture }] of context.header.steps.entries()) {
    if (picture !== null) checkPicture(`header.steps[${index}].picture`, picture, context);
  }
}

/** @param {string} path @param {PictureSpec} picture @param {Context} context */
function checkPicture(path, picture, context) {
  const { panels } = picture;
  if (panels.length < 1 || panels.length > MAX_PANELS) {
    const many = panels.length.toLocaleString("en-US");
    refuse(`${path} has ${many} panels; a picture has 1 to ${MAX_PANELS}.`);
  }
  for (const [index, panel] of panels.entries()) {
    const where = `${path}.panels[${index}]`;
    const limits = Array.isArray(panel.limit) ? panel.limit : [];
    if (![panel.name, ...limits].every((name) => Object.hasOwn(AXES, name) && isThere(name, context))) {
      refuse(`${where} shows a matrix that the document does not have.`);
    }
    checkTexts(`${where}.title`, panel.title, context.header.heads.length);
    if (!isPanel(panel, context)) refuse(`${where} is not as the format says.`);
  }
  checkPlaces(path, picture);
  const names = panels.map((panel) => panel.name);
  for (const [result, product] of Object.entries(picture.products)) {
    const shown = [result, product.left, product.right].every((name) => names.includes(name));
    if (!shown || !isProduct(result, product, context)) refuse(`${path}.products are not products of its panels.`);
  }
  for (const [result, operation] of Object.entries(picture.operations)) {
    const isMade = !Object.hasOwn(picture.products, result);
    const shown = [result, ...operation.of].every((name) => names.includes(name));
    if (!isMade || !shown || !isOperation(result, operation, context)) {
      refuse(`${path}.operations are not operations on its panels.`);
    }
  }
}

/**
 * Whether the document has a matrix for each of its heads, or what it is computed from.
 * @param {string} name @param {Context} context
 */
function isThere(name, { header, given }) {
  if (OF_HEAD.includes(name)) return header.heads.every((head) => given.has(`${name}/${head}`));
  if (name === "concat" && header.heads.length === header.heads_in_layer) return true;
  const square = header.query.labels.length === header.key.labels.length;
  if (name === "embeddings_k" && given.has("embeddings") && square) return true;
  return Object.hasOwn(COMPUTED, name) || given.has(name);
}

/** @param {string} name @param {Context} context */
const shapeOf = (name, { sizes }) => (COMPUTED[name] ?? ARRAYS[name]).map((axis) => sizes[axis]);

/** @param {PanelSpec} panel @param {Context} context */
function isPanel(panel, context) {
  const { limit, made_from: madeFrom, part_width: width } = panel;
  const [, columns] = shapeOf(panel.name, context);
  const [rows, cols] = AXES[panel.name];
  return (
    panel.rows === rows &&
    panel.cols === cols &&
    (panel.role === null || ROLES.includes(panel.role)) &&
    SCALES.includes(panel.scale) &&
    (limit === null || (Array.isArray(limit) ? limit.length > 0 : limit > 0)) &&
    (madeFrom === null || (Object.hasOwn(AXES, madeFrom.name) && PACES.includes(madeFrom.pace))) &&
    (width === null || (width > 0 && columns % width === 0)) &&
    Object.keys(panel.ticks).every((column) => Number(column) < columns)
  );
}

/** @param {string} path @param {PictureSpec} picture */
function checkPlaces(path, { panels, grid, widths, heights }) {
  const placed = grid
    .flat()
    .filter((number) => number !== null)
    .sort((a, b) => a - b);
  if (placed.length !== panels.length || !placed.every((number, index) => number === index)) {
    refuse(`${path}.grid does not place each panel once.`);
  }
  const fits = heights.length === grid.length && grid.every((row) => row.length === widths.length);
  if (!fits || ![...widths, ...heights].every((share) => share > 0)) {
    refuse(`${path} has widths and heights that do not fit its grid.`);
  }
}

/** @param {string} result @param {import("./document.js").ProductSpec} product @param {Context} context */
function isProduct(result, { left, right, bias }, context) {
  const [[rows, inner], [depth, columns]] = [shapeOf(left, context), shapeOf(right, context)];
  const shape = shapeOf(result, context);
  if (inner !== depth || shape[0] !== rows || shape[1] !== columns) return false;
  return isVector(bias, columns, context);
}

/**
 * Whether a name, unless it is null, is that of a vector of this length.
 * @param {string | null} name @param {number} length @param {Context} context
 */
function isVector(name, length, context) {
  if (name === null) return true;
  const known = Object.hasOwn(ARRAYS, name) && ARRAYS[name].length === 1 && isThere(name, context);
  return known && shapeOf(name, context)[0] === length;
}

/** @param {string} result @param {import("./document.js").OperationSpec} operation @param {Context} context */
function isOperation(result, { kind, of, weight, bias, eps, over, name }, context) {
  const shape = shapeOf(result, context);
  if (of.length === 0 || !of.every((one) => shapeOf(one, context).join() === shape.join())) return false;
  if (!OPERATIONS.includes(kind) || (kind !== "sum" && of.length > 1)) return false;
  if (kind === "norm") {
    const isNorm = over !== null && OVER.includes(over) && eps !== null && eps >= 0;
    return isNorm && [weight, bias].every((one) => isVector(one, shape[1], context)) && name === null;
  }
  const named = kind === "activation" ? name !== null && ACTIVATIONS.includes(name) : name === null;
  return named && over === null && eps === null && weight === null && bias === null;
}
