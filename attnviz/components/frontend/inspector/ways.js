// The arithmetic of a document at a step: of a head, or of one of the ways from an average to attention.

import { labelsOf } from "../walk/pictures.js";
import { Attention } from "./arithmetic.js";

/** @typedef {import("../walk/matrices.js").HeadMatrices} HeadMatrices */

const ALL = ["scores", "scaled", "masked", "weights", "head_outputs"];

/**
 * By the name of the step: the lines of a cell's chain, the one that it is about, and the matrices of such cells.
 * @type {Record<string, { lines: string[], current: string, byCell: string[] }>}
 */
const WAYS = {
  loop: { lines: ["head_outputs"], current: "head_outputs", byCell: [] },
  matrix: { lines: ["weights", "head_outputs"], current: "weights", byCell: ["triangle"] },
  softmax: {
    lines: ["scores", "masked", "weights", "head_outputs"],
    current: "weights",
    byCell: ["masked_zeros", "softmax_weights"],
  },
  data: { lines: ALL, current: "scores", byCell: ["masked", "weights"] },
};

/** @typedef {{ way?: string | null }} OfWay */

/** The lines of a cell's chain. @param {OfWay} header */
export const linesOf = ({ way }) => (way ? WAYS[way].lines : ALL);

/**
 * The line that a step is about, and the lines that come after it; all of a way are there already.
 * @param {OfWay} header @param {string} step @param {string[]} steps the names of all, in order
 */
export function marksOf({ way }, step, steps) {
  if (way) return { current: WAYS[way].current, later: [] };
  return { current: step, later: ALL.filter((name) => steps.indexOf(name) > steps.indexOf(step)) };
}

/** The letter of what is averaged, and its colour: values, or X itself. @param {OfWay} header */
export const averagedOf = ({ way }) => (way ? ["x", "plain"] : ["v", "value"]);

/** Whether weights differ, so that a row has largest ones. @param {OfWay} header */
export const hasOwnWeights = ({ way }) => !way || way === "data";

/**
 * What the inspector writes about: a head's arithmetic at a step.
 * @param {HeadMatrices} matrices @param {string} step
 * @param {import("./inspector.js").Inspected | null} before of which the arithmetic is kept where it is the same
 * @returns {import("./inspector.js").Inspected}
 */
export function inspected(matrices, step, before) {
  const { header } = matrices.document;
  const way = header.kind === "averages" && Object.hasOwn(WAYS, step) ? step : null;
  const isSame = before?.matrices === matrices && before.attention.header.way === way;
  const steps = header.steps.map(({ name }) => name);
  const byCell = header.steps.filter(({ is_by_cell: is }) => is).map(({ name }) => name);
  return {
    matrices,
    attention: isSame ? before.attention : attentionOf(matrices, way),
    labels: labelsOf(matrices.document, step),
    step,
    steps,
    byCell: way ? WAYS[way].byCell : byCell,
    isLater: header.kind === "block" && steps.indexOf(step) > steps.indexOf("output"),
    loop: (way && way !== "loop" && matrices.get("by_loop")) || null,
  };
}

/** @param {HeadMatrices} matrices @param {string | null} way @returns {Attention} */
function attentionOf(matrices, way) {
  const { scale, scale_label: label, mask: kind, mask_value, mask_fills } = matrices.document.header;
  const mask = kind === "none" || kind === "causal" || kind === "window" ? kind : "array";
  const names = hasOwnWeights({ way }) ? ["query", "key", "value", "mask"] : ["value"]; // without them scores are 0
  const arrays = Object.fromEntries(names.map((name) => [name, matrices.held(name)]));
  const filled = { mask_value, mask_fills };
  return new Attention({ scale, scale_label: label, mask, ...filled, way }, /** @type {Arrays} */ (arrays));
}
