// The sentences of the page Train. Pure functions.

import { fixed, weightText } from "../core/format.js";

export const COVERED = "This row is covered: guess where it looks. A click on it, or R, reveals it.";

/** "decoder.1.0" -> its parts; null for what names no head. @param {string} text @returns {HeadPlace | null} */
export function placeOf(text) {
  const [kind, layer, head] = text.split(".");
  return head === undefined ? null : { kind, layer: Number(layer), head: Number(head) };
}

/** @param {HeadPlace} place */
export const placeKey = ({ kind, layer, head }) => `${kind}.${layer}.${head}`;

/** @type {Record<string, string>} */
const KINDS = { encoder: "encoder", decoder: "decoder", cross: "decoder to encoder" };

/** @param {HeadPlace} place @param {boolean} several whether the model has several kinds of attention */
export const placeName = ({ kind, layer, head }, several) =>
  `${several ? `${KINDS[kind]}, ` : ""}layer ${layer}, head ${head}`;

/** @param {string} kind */
export const kindName = (kind) => KINDS[kind] ?? kind;

/** "93.4 %" @param {number} share */
export const percent = (share) => `${fixed(share * 100, 1)} %`;

/** What a training is doing, in a line. @param {TrainingRun} run */
export function stateText({ state, message, step, steps, speed, left }) {
  if (state === "new") return "Not trained yet: every weight is as it was drawn from the seed.";
  if (state === "recorded") return message;
  if (state === "queued") return message || "Waiting for its turn.";
  const done = `Step ${step.toLocaleString("en-US")} of ${steps.toLocaleString("en-US")}`;
  if (state === "running" && !step && speed === null) return "Starting a process to train in.";
  if (state === "running") {
    const pace = speed === null ? "" : ` · ${speedText(speed)} steps/s`;
    return `${done}${pace}${left === null ? "" : ` · ${leftText(left)} left`}`;
  }
  if (state === "stopped") return `${done} · stopped`;
  return `${done} · ${state}`;
}

/** @param {number} speed */
const speedText = (speed) => (speed < 10 ? fixed(speed, 1) : Math.round(speed).toLocaleString("en-US"));

/** @param {number} seconds */
function leftText(seconds) {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  return `${Math.ceil(seconds / 60)} min`;
}

/** "after 2,000 steps" @param {number} step */
export const afterSteps = (step) => `after ${step.toLocaleString("en-US")} ${step === 1 ? "step" : "steps"}`;

/**
 * What the picture shows, for screen readers.
 * @param {HeadPlace} place @param {number} step @param {boolean} several
 */
export const pictureText = (place, step, several) => `Attention of ${placeName(place, several)} ${afterSteps(step)}`;

/**
 * What a title adds where the chosen snapshot is not here, and another one is shown.
 * @param {TrainingMoment | null} moment @param {number} step the chosen one
 */
export const otherStep = (moment, step) => (moment && moment.step !== step ? `, ${afterSteps(moment.step)}` : "");

/**
 * The cell that is meant, in a line.
 * @param {{ query: string[], key: string[] }} labels @param {number} i @param {number} j @param {number} weight
 */
export function cellText({ query, key }, i, j, weight) {
  const hidden = Number.isNaN(weight) ? "hidden by the causal mask" : weightText(weight);
  return `${i} “${query[i]}” looks at ${j} “${key[j]}”: ${hidden}`;
}
