// What there is to choose from in a walk, and its values as a link has them: "weights", "3", "1".

import { hiddenValue } from "../core/attention.ts";
import { darkens, MANY, turned } from "../core/colour_limit.ts";
import { darkened } from "./pictures.ts";
import type { Header } from "../core/document.ts";

const GUESS =
  "Covers one row: the pinned one, or an early one. Choose its largest cell; each guess is judged. R reveals the row.";
const LARGEST = "They end at the largest weight.";
const LONG = "On by itself in a long text: of ten rows, nine have no weight above it.";

/** The switch that darkens the colours of weights, where that changes them. */
function darkening(document: WalkDocument, { head, stretch }: WalkValues): Switch[] {
  const columns = document.header.key.labels.length;
  const end = darkened(document, head);
  if (!end) return [];
  const label = `Darken: colours end at ${end}, not 1`;
  const help = columns >= MANY ? LONG : LARGEST;
  return [{ name: "stretch", label, help, isOn: darkens(stretch, columns), other: turned(stretch, columns) }];
}

export function offered(
  document: WalkDocument,
  values: WalkValues,
  { home, lecture }: { home: Home; lecture: boolean },
): Offered {
  const { header } = document;
  const { step: name, layer, head, drawing, predict } = values;
  const at = header.steps.findIndex((one) => one.name === name);
  const [previous, step, next] = [at - 1, at, at + 1].map((n) => header.steps[n]);
  const guess = { name: "predict", label: "Guess a row", help: GUESS, isOn: predict, other: predict ? "0" : "1" };
  const layers = home.layers ?? [];
  return {
    steps: header.steps.map(({ name: value, title }) => [value, title]),
    previous: previous ? { step: previous.name } : null,
    next: next ? { step: next.name } : null,
    drawings: (step?.picture && !(predict && step.can_be_covered) && home.drawings) || [],
    layers,
    layerMarks: home.layerMarks,
    heads: header.heads,
    sharedBy: header.shared_by,
    layerLabel: layers.length || !home.onlyLayer ? `layer ${layer}` : home.onlyLayer,
    place: lecture && header.kind !== "averages" ? `${placeOf(header, layers)}head ${head}` : "",
    switches: [
      ...(step?.can_be_covered && (predict || drawing === "stage") ? [guess] : []),
      ...(step?.can_be_stretched ? darkening(document, values) : []),
    ],
  };
}

/** Where a head is in the model. @param layers those to choose from */
function placeOf({ kind, place, layer }: WalkDocument["header"], layers: number[]) {
  if (kind === "block") return `${place} · `;
  return layers.length ? `layer ${layer} · ` : "";
}

/** What scores are multiplied by, and what hidden cells hold: the motion of a step says it. */
export const factorsOf = (header: Header) => ({
  ...{ scale: header.scale, hidden: hiddenValue(header) },
  ...(header.cap && { cap: header.cap }),
});

/** The row to guess where none is pinned: the first that sees more than two keys. */
export const firstGuess = ({ mask, query }: WalkDocument["header"]) =>
  mask === "causal" ? Math.max(0, Math.min(2, query.labels.length - 1)) : 0;

/** What a link asks for in vain. */
export const noFocus = (focus: string, step: string) =>
  `The link’s focus=${focus} is not a matrix of ${step}, so all matrices are shown.`;

/** A value as a link has it. */
export function written({ step, layer, head, drawing, predict, stretch }: WalkValues): Record<string, string> {
  return { step, layer: String(layer), head: String(head), drawing, predict: predict ? "1" : "0", stretch };
}

export function read(name: string, value: string): Partial<WalkValues> {
  if (name === "layer" || name === "head") return { [name]: Number(value) };
  return { [name]: name === "predict" ? value === "1" : value };
}
