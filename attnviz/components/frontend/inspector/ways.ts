// The arithmetic of a document at a step: of a head, or of one of the ways from an average to attention.

import { labelsOf } from "../walk/pictures.ts";
import { Attention } from "../core/attention.ts";
import { reasonsOf } from "../core/mask_reasons.ts";
import type { Inspected } from "./inspector.ts";
import type { HeadMatrices } from "../walk/matrices.ts";

const ALL = ["scores", "scaled", "capped", "biased", "masked", "weights", "head_outputs"];
const OF_SOME = ["capped", "biased"]; // which only some layers have

/**
 * By the name of the step: the lines of a cell's chain, the one that it is about, and the matrices of such cells.
 */
const WAYS: Record<string, { lines: string[]; current: string; byCell: string[] }> = {
  loop: { lines: ["head_outputs"], current: "head_outputs", byCell: [] },
  matrix: { lines: ["weights", "head_outputs"], current: "weights", byCell: ["triangle"] },
  softmax: {
    lines: ["scores", "masked", "weights", "head_outputs"],
    current: "weights",
    byCell: ["masked_zeros", "softmax_weights"],
  },
  data: { lines: ALL.filter((name) => !OF_SOME.includes(name)), current: "scores", byCell: ["masked", "weights"] },
};

export type OfWay = { way?: string | null; cap?: number; biased?: boolean };

/** The lines of a cell's chain. */
export function linesOf({ way, cap, biased }: OfWay) {
  if (way) return WAYS[way].lines;
  const has: Record<string, unknown> = { capped: cap, biased };
  return ALL.filter((name) => !OF_SOME.includes(name) || has[name]);
}

/**
 * The line that a step is about, and the lines that come after it; all of a way are there already.
 * @param steps the names of all, in order
 */
export function marksOf({ way }: OfWay, step: string, steps: string[]) {
  if (way) return { current: WAYS[way].current, later: [] };
  return { current: step, later: ALL.filter((name) => steps.indexOf(name) > steps.indexOf(step)) };
}

/** The letter of what is averaged, and its colour: values, or X itself. */
export const averagedOf = ({ way }: OfWay) => (way ? ["x", "plain"] : ["v", "value"]);

/** Whether weights differ, so that a row has largest ones. */
export const hasOwnWeights = ({ way }: OfWay) => !way || way === "data";

/**
 * What the inspector writes about: a head's arithmetic at a step.
 * @param isExplained whether it is to be said why a score is high
 * @param before of which the arithmetic is kept where it is the same
 */
export function inspected(
  matrices: HeadMatrices,
  step: string,
  { before, isExplained }: { before: Inspected | null; isExplained: boolean },
): Inspected {
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
    canExplain: header.kind !== "averages" && step === "scores",
    isExplained,
    loop: (way && way !== "loop" && matrices.get("by_loop")) || null,
  };
}

function attentionOf(matrices: HeadMatrices, way: string | null): Attention {
  const { header } = matrices.document;
  const { scale, scale_label: label, mask: kind, mask_value, mask_fills, cap } = header;
  const mask = kind === "none" || kind === "causal" ? kind : "array";
  // Without queries and keys, scores are 0.
  const names = hasOwnWeights({ way }) ? ["query", "key", "value", "mask", "sinks", "position_bias"] : ["value"];
  const filled = { mask_value, mask_fills };
  const operands = matrices.operands(names);
  const masking = { mask, mask_reasons: reasonsOf(header), ...filled } as const;
  const biased = Boolean(operands.position_bias);
  return new Attention({ scale, scale_label: label, ...masking, cap, biased, way }, operands);
}
