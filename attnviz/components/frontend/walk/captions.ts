// What the walk that plays itself says of each step: one sentence of at most 20 words, with the numbers of one pair, a
// query that looks at a key.

import { number, operand, percent, quoted } from "../core/format.ts";
import { pinnedFact } from "./pinned_fact.ts";
import { largest, wordOf } from "./row_words.ts";
import { plain } from "../marks/text.ts";
import type { Attention } from "../core/attention.ts";
import type { StepText } from "../core/document.ts";
import type { HeadMatrices } from "./matrices.ts";
import type { FullPair } from "./row_words.ts";

interface About {
  matrices: HeadMatrices;
  step: StepText;
  pair: FullPair;
  /** their words */
  query: Said;
  key: Said;
  cell: ReturnType<Attention["cell"]>;
}

/** What is said of a step, in the inks of what is named. All that its picture shows has to be here. */
export function captionOf(matrices: HeadMatrices, step: StepText, pair: FullPair): Said[] {
  const { query, key } = matrices.document.header;
  const say = Object.hasOwn(CAPTIONS, step.name) ? CAPTIONS[step.name] : factSaid;
  return say({
    ...{ matrices, step, pair },
    query: [quoted(wordOf(query, pair.q)), "query"],
    key: [quoted(wordOf(key, pair.k)), "key"],
    cell: matrices.attention.cell(pair.q, pair.k),
  });
}

const CAPTIONS: Record<string, (about: About) => Said[]> = {
  tokens: sentenceSaid,
  embeddings: ({ matrices, pair, query }) => [
    [`Row ${pair.q} of X stands for `],
    query,
    [`: ${numbersSaid(rowOf(matrices, "embeddings", pair.q))}.`],
  ],
  qkv: ({ matrices, pair, query, key }) => [
    query,
    [" gets a query, "],
    [firstOf(rowOf(matrices, "query", pair.q)), "query"],
    ["; "],
    key,
    [" a key, "],
    [firstOf(rowOf(matrices, "key", pair.k)), "key"],
    [", and a "],
    ["value", "value"],
    ["."],
  ],
  normed: ({ matrices, pair, query }) => {
    const [before, after] = ["query", "normed_query"].map((name) => Math.hypot(...rowOf(matrices, name, pair.q)));
    return [
      ["The query of "],
      query,
      [` had a length of ${number(before, 2)}; after its norm it has ${number(after, 2)}.`],
    ];
  },
  rotated: ({ matrices, pair, query }) => {
    const angles = rowOf(matrices, "query_angles", pair.q);
    return [
      ["Position "],
      [String(pair.q), "query"],
      [" turns the query and the key of "],
      query,
      [`: their first pair of dimensions by ${number(angles[0], 2)} radians, without full turns (2π).`],
    ];
  },
  scores: ({ matrices, query, key, cell }) => [
    ["The query of "],
    query,
    [" times the key of "],
    key,
    [`: ${matrices.attention.size} products add up to the score `],
    [number(cell.score, 2), "attention"],
    ["."],
  ],
  scaled: ({ matrices, cell }) => {
    const { scale, scale_label: label } = matrices.document.header;
    if (scale === 1) return [["Nothing is scaled: the score "], [number(cell.score, 2), "attention"], [" stays."]];
    const name = label.includes("√") ? ` (${label})` : "";
    return [
      [`The score is scaled: ${number(cell.score, 2)} × ${number(scale)}${name} = `],
      [number(cell.scaled, 2), "attention"],
      ["."],
    ];
  },
  capped: ({ matrices, cell }) => [
    [`The soft cap of ${number(matrices.document.header.cap ?? 0, 1)} makes `],
    [number(cell.capped, 2), "attention"],
    [` of ${number(cell.scaled, 2)}.`],
  ],
  biased: ({ key, cell }) =>
    Number.isNaN(cell.biased)
      ? [key, [" is outside of the window: it is not looked at, so no bias is shown."]]
      : [
          [`The position bias ${cell.biased < cell.capped ? "takes" : "adds"} `],
          [`${number(Math.abs(cell.biased - cell.capped), 2)}: ${number(cell.biased, 2)}`, "attention"],
          ["."],
        ],
  masked: maskedSaid,
  weights: weightsSaid,
  head_outputs: outputSaid,
  concat: concatSaid,
  output: ({ matrices, pair, query }) => [
    ["W_O mixes all heads: the output of "],
    query,
    [` has ${numbersSaid(rowOf(matrices, "output", pair.q))}.`],
  ],
  loop: ({ pair, query }) => [
    [`Row ${pair.q}, `],
    query,
    [`, becomes the mean of ${pair.q ? `rows 0 to ${pair.q}, each times ` : "row 0 alone, times "}`],
    [number(1 / (pair.q + 1), 2), "attention"],
    ["."],
  ],
};

function sentenceSaid({ matrices, pair, query, key, cell }: About): Said[] {
  if (cell.allHidden && cell.sink) return [query, [" sees no token at all: the sink takes all of its attention."]];
  if (cell.allHidden) return [query, [" sees no token at all, so it has no attention to give."]];
  const { header } = matrices.document;
  if (!cell.weight && cell.sink?.share === 1) return [query, [" gives nothing: the sink takes all of its attention."]];
  const isItself = header.query === header.key && pair.q === pair.k;
  return [
    query,
    [" gives "],
    [percent(cell.weight), "attention"],
    [" of its attention to "],
    isItself ? ["itself"] : key,
    [". The next steps compute this share."],
  ];
}

function maskedSaid({ matrices, query, key, cell }: About): Said[] {
  if (cell.bias === -Infinity) {
    return [query, [" may not look at "], key, [": the mask makes it "], [number(cell.masked, 1), "attention"], ["."]];
  }
  if (cell.bias !== 0) {
    return [["The mask adds "], [`${number(cell.bias, 2)}: ${number(cell.masked, 2)}`, "attention"], ["."]];
  }
  const { mask } = matrices.document.header;
  const why = mask === "none" ? "No mask: " : "The mask lets it be: ";
  return [[why], query, [" may look at "], key, [", so "], [number(cell.masked, 2), "attention"], [" stays."]];
}

function weightsSaid({ query, key, cell }: About): Said[] {
  if (cell.allHidden && cell.sink) return [query, [" sees no token: the sink takes all."]];
  if (cell.allHidden) return [query, [" sees no token: its exponentials sum to 0."]];
  const exponent = cell.shift ? `${number(cell.masked, 2)} − ${operand(cell.shift)}` : number(cell.masked, 2);
  const ofSink = cell.sink ? `, with ${number(cell.sink.exponential, 2)} of the sink` : "";
  return [
    [`exp(${exponent}) = ${number(cell.exponential, 2)}, divided by the row’s sum ${number(cell.sum, 2)}${ofSink}: `],
    query,
    [" gives "],
    key,
    [" "],
    [percent(cell.weight), "attention"],
    ["."],
  ];
}

/** In the dimension in which the key adds most. */
function outputSaid({ matrices, pair, query, key, cell }: About): Said[] {
  const value = rowOf(matrices, "value", pair.k);
  if (!value.length) return [];
  const dim = largest(Float64Array.from(value, Math.abs));
  const all = matrices.attention.output(pair.q)[dim];
  return [
    key,
    [" adds "],
    [number(cell.weight, 2), "attention"],
    [" × "],
    [number(value[dim], 2), "value"],
    [` = ${number(cell.weight * value[dim], 2)} to dim ${dim} of the output of `],
    query,
    [`, in all ${number(all, 2)}.`],
  ];
}

function concatSaid({ matrices, query }: About): Said[] {
  const { head, document } = matrices;
  const width = matrices.held("value")?.shape[1] ?? 0;
  const { heads_in_layer: heads } = document.header;
  return [
    [`All ${heads} heads side by side: head ${head} fills columns ${head * width} to ${(head + 1) * width - 1} of `],
    query,
    ["’s row."],
  ];
}

/** Of other steps, the sentence about the row; where there is none, how the row of the result begins. */
function factSaid({ matrices, step, pair, query }: About): Said[] {
  const fact = pinnedFact(matrices, step, pair);
  if (fact && plain(fact)) return [[plain(fact)]];
  const numbers = rowOf(matrices, step.name, pair.q);
  return numbers.length ? [[`Row ${pair.q}, `], query, [`: ${numbersSaid(numbers)}.`]] : [];
}

/** A row of a matrix; empty where the matrix is not here, or has no such row. */
function rowOf(matrices: HeadMatrices, name: string, row: number) {
  const matrix = matrices.get(name);
  const width = matrix?.shape[1] ?? 0;
  return matrix?.data.subarray(row * width, (row + 1) * width) ?? new Float32Array();
}

const firstOf = (numbers: ArrayLike<number>) => `${number(numbers[0], 2)}${numbers.length > 1 ? ", …" : ""}`;

function numbersSaid(numbers: ArrayLike<number>) {
  const [first, second] = [0, 1].map((n) => number(numbers[n], 2));
  return numbers.length > 2 ? `${numbers.length} numbers, such as ${first} and ${second}` : `the number ${first}`;
}
