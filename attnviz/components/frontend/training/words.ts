// The sentences of the page Train. Pure functions.

import { fixed, quoted, weightText, whole } from "../core/format.ts";

export const COVERED = "Covered.";

/** "decoder.1.0" -> its parts; null for what names no head. */
export function placeOf(text: string): HeadPlace | null {
  const [kind, layer, head] = text.split(".");
  return head === undefined ? null : { kind, layer: Number(layer), head: Number(head) };
}

export const placeKey = ({ kind, layer, head }: HeadPlace) => `${kind}.${layer}.${head}`;

const KINDS: Record<string, string> = { encoder: "encoder", decoder: "decoder", cross: "decoder to encoder" };

/** @param several whether the model has several kinds of attention */
export const placeName = ({ kind, layer, head }: HeadPlace, several: boolean) =>
  `${several ? `${KINDS[kind]}, ` : ""}layer ${layer}, head ${head}`;

export const kindName = (kind: string) => KINDS[kind] ?? kind;

/** Whether a training goes on, or waits for its turn. */
export const isLive = ({ state }: TrainingRun) => state === "running" || state === "queued";

/** What a training is doing, in a line. */
export function stateText({ state, message, step, steps, speed, left }: TrainingRun) {
  if (state === "new") return "Not trained yet: every weight is as it was drawn from the seed.";
  if (state === "recorded") return message;
  if (state === "queued") return message || "Waiting for its turn.";
  const done = `Step ${whole(step)} of ${whole(steps)}`;
  if (state === "running" && !step && speed === null) return "Starting a process to train in.";
  if (state === "running") {
    const pace = speed === null ? "" : ` · ${speedText(speed)} steps/s`;
    return `${done}${pace}${left === null ? "" : ` · ${leftText(left)} left`}`;
  }
  if (state === "stopped") return `${done} · stopped`;
  return `${done} · ${state}`;
}

/** Steps a second. */
export const speedText = (speed: number) => (speed < 10 ? fixed(speed, 1) : whole(Math.round(speed)));

function leftText(seconds: number) {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  return `${Math.ceil(seconds / 60)} min`;
}

/** "after 2,000 steps" */
export const afterSteps = (step: number) => `after ${whole(step)} ${step === 1 ? "step" : "steps"}`;

/** What the picture shows, for screen readers. */
export const pictureText = (place: HeadPlace, step: number, several: boolean) =>
  `Attention of ${placeName(place, several)} ${afterSteps(step)}`;

/**
 * What a title adds where the chosen snapshot is not here, and another one is shown.
 * @param step the chosen one
 */
export const otherStep = (moment: TrainingMoment | null, step: number) =>
  moment && moment.step !== step ? `, ${afterSteps(moment.step)}` : "";

/** The cell that is meant, in a line. */
export function cellText({ query, key }: { query: string[]; key: string[] }, i: number, j: number, weight: number) {
  const hidden = Number.isNaN(weight) ? "hidden by the causal mask" : weightText(weight);
  return `${i} ${quoted(query[i])} looks at ${j} ${quoted(key[j])}: ${hidden}`;
}
