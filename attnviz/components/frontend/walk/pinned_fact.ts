// What a step's numbers say of the row or the cell that is pinned. The document has a sentence about the numbers of the
// whole step; where that names a row, a pin must not stand beside a sentence about another one.

import { momentsOf } from "../core/arithmetic.ts";
import { bucketOf, positionsSaid, rangeOf, vectorSaid } from "../core/buckets.ts";
import { addend, fixed, number, percent, quoted } from "../core/format.ts";
import type { HeadMatrices } from "./matrices.ts";
import type { StepText } from "../core/document.ts";

/** what words name */
export type WordedTarget = Partial<Target> & { words: string };
export interface Pinned {
  matrices: HeadMatrices;
  step: StepText;
  /** the row */
  q: number;
  k: number | null;
}
/** of a sentence */
export type Parts = (string | WordedTarget)[];

/** by the name of the step */
const OF_ROW: Record<string, (pinned: Pinned) => Parts> = {
  normed: queryNormSaid,
  rotated: turnedSaid,
  scaled: scaledSaid,
  capped: cappedSaid,
  biased: biasedSaid,
  weights: weightsSaid,
  attention_residual: sumSaid,
  feed_forward_residual: sumSaid,
  input_norm: normSaid,
  attention_norm: normSaid,
  feed_forward_norm: normSaid,
  block_output: normSaid,
  transform_norm: normSaid,
  final_norm: normSaid,
  feed_forward_hidden: hiddenSaid,
  feed_forward_output: lengthSaid,
  transform_hidden: lengthSaid,
  logits: logitsSaid,
  probabilities: probabilitiesSaid,
  matrix: gapSaid,
  softmax: gapSaid,
  data: gapSaid,
};

/** The sentence about what is pinned; null where nothing is, or where the step's own sentence names no row. */
export function pinnedFact(matrices: HeadMatrices, step: StepText, { q, k }: Pair): SaidText | null {
  if (q === null && k !== null && step.name === "weights") return said(columnSaid(matrices, k));
  if (q === null || !Object.hasOwn(OF_ROW, step.name)) return null;
  return said(OF_ROW[step.name]({ matrices, step, q, k }));
}

function weightsSaid({ matrices, q, k }: Pinned): Parts {
  const weights = rowOf(matrices, "weights", q);
  if (!weights) return [];
  if (weights.every(Number.isNaN)) {
    const all = matrices.get("sink") ? "the sink takes all of it." : "its exponentials sum to 0. It gets no weights.";
    return ["In ", row(matrices, q), `, every key is hidden: ${all}`];
  }
  const most = largest(weights);
  const puts = (at: number) => ({
    words: percent(weights[at] || 0),
    row: q,
    column: at,
    matrix: "weights",
  });
  const isEmpty = !weights[most]; // a sink takes all
  const on = isEmpty && k === null ? ["every key"] : [column(matrices, k ?? most)];
  const isBlind = rowOf(matrices, "masked", q)?.every(Number.isNaN) ?? false; // hidden by a finite number
  const who = isBlind
    ? ["In ", row(matrices, q), ", every key is hidden, yet it puts "]
    : ["Here ", row(matrices, q), ", puts "];
  const begin = [...who, puts(k ?? most), " on ", ...on];
  const isHidden = k !== null && Number.isNaN(weights[k]);
  const why = isHidden ? [", which is hidden from it"] : [];
  const isMost = k === null || weights[k] === weights[most];
  const rest = isMost || isEmpty ? [] : ["; most, ", puts(most), ", on ", column(matrices, most)];
  const sink = rowOf(matrices, "sink", q);
  const ofSink = sink ? ["; the sink takes ", { words: percent(sink[0]), row: q, matrix: "sink" }] : [];
  return [...begin, ...why, ...rest, ...ofSink, "."];
}

function columnSaid(matrices: HeadMatrices, k: number): Parts {
  const weights = matrices.get("weights");
  if (!weights) return [];
  const { data, shape } = weights;
  const ofRows = Array.from({ length: shape[0] }, (_, n) => data[n * shape[1] + k]);
  const masked = matrices.get("masked")?.data;
  const isHidden = ofRows.map((weight, n) => Number.isNaN(masked ? masked[n * shape[1] + k] : weight));
  const q = largest(ofRows);
  const weight = ofRows[q] || 0;
  const words = { words: percent(weight), row: q, column: k, matrix: "weights" };
  const begin = ["Here ", column(matrices, k)];
  if (isHidden.every(Boolean)) {
    // A finite number hides it. A row of which it hides every key has weights all the same; so have others, if it is
    // not far below their scores.
    const isBlind = (_: number, n: number) => rowOf(matrices, "masked", n)?.every(Number.isNaN);
    const isOfBlind = ofRows.every((one, n) => !one || isBlind(one, n));
    const from = isOfBlind
      ? ", from rows of which every key is hidden."
      : ": the number that hides it is not low enough to make its weights 0.";
    return [...begin, ", is hidden from every row.", ...(weight ? [" Its largest weight is ", words, from] : [])];
  }
  if (!weight) return [...begin, ", gets ", words, ` from every row${isHidden.some(Boolean) ? " that sees it" : ""}.`];
  return [...begin, ", gets most from ", row(matrices, q), ": ", words, "."];
}

function queryNormSaid({ matrices, q }: Pinned): Parts {
  const [before, after] = ["query", "normed_query"].map((name) => rowOf(matrices, name, q));
  if (!before || !after) return [];
  const lengths = [before, after].map((numbers) => fixed(length(numbers)));
  return ["The query of ", row(matrices, q), `, had a length of ${lengths[0]}; after its norm it has ${lengths[1]}.`];
}

function turnedSaid({ matrices, q }: Pinned): Parts {
  const angles = rowOf(matrices, "query_angles", q);
  if (!angles?.length) return [];
  const turned = (at: number) => ({ words: fixed(angles[at]), row: q, column: at, matrix: "query_angles" });
  const last = angles.length > 1 ? [", the last by ", turned(angles.length - 1)] : [];
  const begin = ["In ", row(matrices, q), ", the first pair of dimensions turns by ", turned(0)];
  return [...begin, ...last, ", in radians, without full turns (2π)."];
}

function scaledSaid({ matrices, q, k }: Pinned): Parts {
  const [scores, scaled] = [rowOf(matrices, "scores", q), rowOf(matrices, "scaled", q)];
  const { scale } = matrices.document.header;
  if (!scores || !scaled || scale === 1) return [];
  const at = k ?? largest(scores.map(Math.abs));
  const written = (matrix: string, numbers: number[]) => ({
    ...{ words: fixed(numbers[at]), row: q, column: at, matrix },
  });
  const what = k === null ? [", the largest magnitude"] : [", ", column(matrices, k), ","];
  const change = [" goes from ", written("scores", scores), " to ", written("scaled", scaled)];
  return ["In ", row(matrices, q), ...what, ...change, ` (× ${fixed(scale, 4)}).`];
}

function cappedSaid({ matrices, q, k }: Pinned): Parts {
  const [scaled, capped] = [rowOf(matrices, "scaled", q), rowOf(matrices, "capped", q)];
  const { cap } = matrices.document.header;
  if (!scaled || !capped || !cap) return [];
  const at = k ?? largest(scaled.map(Math.abs));
  const written = (matrix: string, numbers: number[]) => ({ words: fixed(numbers[at]), row: q, column: at, matrix });
  const what = k === null ? [", the largest magnitude"] : [", ", column(matrices, k), ","];
  const change = [" goes from ", written("scaled", scaled), " to ", written("capped", capped)];
  return ["In ", row(matrices, q), ...what, ...change, ` (c = ${fixed(cap, 1)}).`];
}

function biasedSaid({ matrices, step, q, k }: Pinned): Parts {
  const [biases, biased] = [rowOf(matrices, "position_bias", q), rowOf(matrices, "biased", q)];
  if (!biases || !biased) return [];
  const masked = rowOf(matrices, "masked", q);
  const isHidden = (at: number) => Number.isNaN(masked?.[at]);
  if (k === null && biases.every((_, at) => isHidden(at))) return ["In ", row(matrices, q), ", every key is hidden."];
  const at = k ?? largest(biases.map((bias, n) => (isHidden(n) ? NaN : bias)));
  if (Number.isNaN(biases[at])) {
    return [
      "In ",
      row(matrices, q),
      ", ",
      column(matrices, at),
      ", outside of the window, is not looked at: no bias is shown.",
    ];
  }
  const distance = Math.abs(at - q);
  const places = `${positionsSaid({ first: distance, last: distance }, at > q)} it`;
  const where = distance ? [", ", places, ","] : [", itself,"];
  const written = (matrix: string, numbers: number[]) => ({ words: fixed(numbers[at]), row: q, column: at, matrix });
  const most = k === null ? ["most, "] : [];
  const summands = step.picture?.panels.slice(1, -1) ?? []; // the bias, or its terms
  const terms = summands.flatMap(({ name }, n) => {
    const summand = written(name, rowOf(matrices, name, q) ?? []);
    if (!n) return [summand];
    const [sign, words] = addend(summand.words).split(" ");
    return [` ${sign} `, { ...summand, words }];
  });
  return [
    ...["In ", row(matrices, q), ", ", column(matrices, at), ...where, " gets ", ...most, ...terms],
    ...[`${bucketSaid(matrices, q, at)}: its score is then `, written("biased", biased)],
    isHidden(at) ? ", and the mask hides it." : ".",
  ];
}

/** The bucket of the distance of a cell, or what its row of a table stands for, where the layer has some. */
function bucketSaid(matrices: HeadMatrices, q: number, k: number) {
  const { buckets } = matrices.document.header;
  const [offset, relative] = [k - q, matrices.get("relative_positions")];
  if (relative) return `, for ${vectorSaid(relative.data, relative.shape[1], { q, k })}`;
  if (!buckets) return "";
  const ends = [0, matrices.document.header.query.labels.length - 1].flatMap((row) =>
    [...(rowOf(matrices, "position_bias", row) ?? [])].map((bias, at) => (Number.isNaN(bias) ? 0 : Math.abs(at - row))),
  );
  const range = rangeOf(offset, buckets, Math.max(...ends)); // a window has no bias beyond it
  const several = range.first === range.last ? "" : ` (${positionsSaid(range, range.isAfter)})`;
  return `, of bucket ${bucketOf(offset, buckets)}${several}`;
}

function sumSaid({ matrices, step, q }: Pinned): Parts {
  const [stream, added] = (step.picture?.operations[step.name]?.of ?? []).map((name) => rowOf(matrices, name, q));
  if (!stream || !added) return [];
  const ratio = length(added) / Math.max(length(stream), 1e-12);
  const words = ratio < 0.01 ? percent(ratio) : `${fixed(100 * ratio, 0)} %`;
  return ["Here what is added to ", row(matrices, q), `, is ${words} as long as the row itself.`];
}

function normSaid({ matrices, step, q }: Pinned): Parts {
  const numbers = rowOf(matrices, step.picture?.panels[0].name ?? "", q);
  if (!numbers) return [];
  const { mean, variance } = momentsOf(numbers);
  return ["Before, the variance of ", row(matrices, q), `, is ${fixed(variance)}, and its mean ${fixed(mean)}.`];
}

function hiddenSaid({ matrices, q }: Pinned): Parts {
  const numbers = rowOf(matrices, "feed_forward_hidden", q);
  if (!numbers) return [];
  const neuron = largest(numbers);
  const fires = percent(numbers.filter((x) => x > 0).length / numbers.length);
  const most = `Neuron ${neuron} fires most, with ${fixed(numbers[neuron])}.`;
  return [`Here ${fires} of the cells of `, row(matrices, q), `, are above 0. ${most}`];
}

function lengthSaid({ matrices, step, q }: Pinned): Parts {
  const numbers = rowOf(matrices, step.name, q);
  return numbers ? ["Here ", row(matrices, q), `, has a length of ${fixed(length(numbers))}.`] : [];
}

function logitsSaid({ matrices, step, q }: Pinned): Parts {
  const numbers = rowOf(matrices, "logits", q);
  if (!numbers) return [];
  const entry = largest(numbers);
  const what = `, is ${fixed(numbers[entry])}, for “${entryName(step, "logits", entry)}”.`;
  return ["Here the largest logit of ", row(matrices, q), what];
}

function probabilitiesSaid({ matrices, step, q }: Pinned): Parts {
  const all = rowOf(matrices, "probabilities", q);
  const entries = matrices.get("logits")?.shape[1];
  if (!all || !entries) return [];
  const own = all.slice(0, entries); // the last column may be all other entries together
  const entry = largest(own);
  const [where, what] = matrices.document.header.attention === "encoder" ? ["at", "token"] : ["after", "next token"];
  const name = entryName(step, "probabilities", entry);
  return [`Here, ${where} `, row(matrices, q), `, the most likely ${what} is “${name}”, with ${percent(own[entry])}.`];
}

function gapSaid({ matrices, step, q }: Pinned): Parts {
  const [own, loop] = [`by_${step.name}`, "by_loop"].map((name) => rowOf(matrices, name, q));
  if (!own || !loop) return [];
  const gaps = own.map((x, n) => Math.abs(x - loop[n]));
  const feature = largest(gaps);
  const gap = gaps[feature];
  if (gap === 0) return ["In ", row(matrices, q), ", nothing differs from the loop."];
  return ["In ", row(matrices, q), `, the largest difference to the loop is ${number(gap, 2)}, in feature ${feature}.`];
}

// ---- words and numbers

/** A row by number and token. */
const row = ({ document }: HeadMatrices, q: number): WordedTarget => ({
  words: `row ${q}, ${quoted(document.header.query.labels[q])}`,
  row: q,
});

const column = ({ document }: HeadMatrices, k: number): WordedTarget => ({
  words: `column ${k}, ${quoted(document.header.key.labels[k])}`,
  column: k,
});

/** The row of a matrix; undefined if it is not here. */
function rowOf(matrices: HeadMatrices, name: string, q: number) {
  const matrix = matrices.get(name);
  return matrix && Array.from(matrix.data.subarray(q * matrix.shape[1], (q + 1) * matrix.shape[1]));
}

/** The place of the largest number, the first of equal ones. */
const largest = (numbers: number[]) =>
  numbers.reduce(
    (best, x, n) => (x > numbers[best] || (Number.isNaN(numbers[best]) && !Number.isNaN(x)) ? n : best),
    0,
  );

const length = (numbers: number[]) => Math.hypot(...numbers);

/** What a column of a matrix stands for. */
const entryName = (step: StepText, name: string, entry: number) =>
  step.picture?.panels.find((panel) => panel.name === name)?.ticks[entry] ?? "";

function said(parts: Parts): SaidText {
  const marks: Exclude<SaidText, string>["marks"] = [];
  let [text, at] = ["", 0];
  for (const part of parts) {
    const words = typeof part === "string" ? part : part.words;
    const count = Array.from(words).length;
    if (typeof part !== "string") {
      const { row: q = null, column: k = null, matrix = "" } = part;
      marks.push({ from: at, to: at + count, row: q, column: k, matrix, part: "", layer: null, head: null });
    }
    text += words;
    at += count;
  }
  return { text, marks };
}
