// When the walk that plays itself shows what: a part for each step, and in each part the motion of the step, in short.

import type { Header } from "../core/document.ts";

/** How long a step is shown, in ms. */
const LENGTHS: Record<string, number> = {
  tokens: 8000,
  embeddings: 8000,
  qkv: 9000,
  normed: 7000,
  rotated: 8000,
  scores: 12_000,
  scaled: 7000,
  capped: 6000,
  biased: 7000,
  masked: 6000,
  weights: 12_000,
  head_outputs: 11_000,
  concat: 8000,
  output: 9000,
};
const OTHER = 7000;
const MOST = 100_000; // ms of all: of a document with more steps, each is shorter
const BEFORE = 900; // ms of a part in which the whole picture is seen first
const EXAMPLE = 0.75; // of a part: then the example is computed
const ARCS = 0.4; // of the sentence's motion: then all its arcs are drawn
const FILLED = 0.87; // of a part: then all is there again

/** A step's part of the walk, in ms from its start. */
export interface Part {
  step: string;
  title: string;
  from: number;
  ms: number;
}
export interface Schedule {
  parts: Part[];
  ms: number;
}

/** The parts of all steps that a document can show. */
export function scheduleOf({ steps }: Pick<Header, "steps">): Schedule {
  const shown = steps.filter(({ picture, missing }, n) => picture || (n === 0 && !missing));
  const lengths = shown.map(({ name }) => LENGTHS[name] ?? OTHER);
  const all = lengths.reduce((sum, ms) => sum + ms, 0);
  const pace = Math.min(1, MOST / (all || 1));
  let from = 0;
  const parts = shown.map(({ name: step, title }, n) => {
    const part = { step, title, from, ms: lengths[n] * pace };
    from += part.ms;
    return part;
  });
  return { parts, ms: from };
}

/** Which part is shown at a time. */
export function partAt({ parts }: Schedule, time: number) {
  return Math.max(
    0,
    parts.findLastIndex(({ from }) => from <= time),
  );
}

/**
 * The moment of a step's own motion, from 0 to 1, its whole picture: first the whole picture, then the example, then
 * all other cells quickly.
 * @param time ms of the walk
 * @param example the moment from which on the example is there
 */
export function momentAt({ from, ms }: Part, time: number, example: number) {
  const passed = time - from;
  const [begin, middle, end] = [BEFORE, EXAMPLE * ms, FILLED * ms];
  if (passed <= begin || passed >= end) return 1;
  if (passed <= middle) return (example * (passed - begin)) / (middle - begin);
  return example + ((1 - example) * (passed - middle)) / (end - middle);
}

/** How much of the sentence's arcs is there at a moment of its part. */
export const arcsAt = (t: number) => Math.min(1, t / ARCS);
