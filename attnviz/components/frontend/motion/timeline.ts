// The motion of a step as a function of time: timelineOf(...).at(t) is what is shown at t, from 0 to 1. No DOM.

import { cellsBeats, embeddingsBeats } from "./cells.ts";
import { headsBeats } from "./heads.ts";
import { operationBeats } from "./operations.ts";
import { productBeats } from "./products.ts";
import { softmaxBeats } from "./softmax.ts";
import { valuesBeats } from "./values.ts";
import { loopBeats, matrixBeats, weightsBeats } from "./ways.ts";

export const NOTHING: Frame = {
  ...{ blank: {}, lit: [], veiled: [], written: [], flights: [], turn: null, stands: {} },
  ...{ upright: null, work: null, says: [] },
};
const ROUNDING = 1e-6; // ms
const REST = 500; // ms: the whole picture, at the end

/** How each step is played. */
const KINDS: Record<string, (played: Played) => Beat[]> = {
  embeddings: embeddingsBeats,
  qkv: productBeats,
  scores: productBeats,
  scaled: cellsBeats,
  capped: cellsBeats,
  biased: cellsBeats,
  masked: cellsBeats,
  weights: softmaxBeats,
  head_outputs: valuesBeats,
  concat: headsBeats,
  output: productBeats,
  loop: loopBeats,
  matrix: matrixBeats,
  softmax: weightsBeats,
  data: weightsBeats,
};

/** The motion of a step; null where nothing is computed in its picture. */
export function timelineOf(played: Played): Timeline | null {
  const beats = (Object.hasOwn(KINDS, played.step) ? KINDS[played.step] : operationBeats)(played);
  if (!beats.length) return null;
  const all: Beat[] = [...beats, { ms: REST, frame: () => ({}) }];
  const ends: number[] = [];
  let ms = 0;
  for (const beat of all) ends.push((ms += beat.ms));
  const last = all.findLastIndex(({ isExample }) => isExample);
  return {
    ms,
    example: last < 0 ? 1 : ends[last] / ms,
    stills: [0, ...ends.slice(0, -1).map((end) => end / ms), 1],
    at(t) {
      const time = Math.min(Math.max(t, 0), 1) * ms;
      const n = firstNotBefore(ends, time);
      const from = n ? ends[n - 1] : 0;
      const share = Math.abs(time - ends[n]) < ROUNDING ? 1 : (time - from) / (ends[n] - from);
      return { ...NOTHING, ...all[n].frame(share) };
    },
  };
}

/**
 * The first of ascending numbers that is not before `time`, up to rounding: a still is the end of its beat.
 */
function firstNotBefore(ends: number[], time: number) {
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] < time - ROUNDING) low = middle + 1;
    else high = middle;
  }
  return low;
}
