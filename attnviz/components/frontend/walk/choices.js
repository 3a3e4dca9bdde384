// What there is to choose from in a walk, and its values as a link has them: "weights", "3", "1".

import { hiddenValue } from "../core/attention.js";
import { darkens, MANY, turned } from "../core/dark_end.js";
import { darkened } from "./pictures.js";

const GUESS =
  "Covers one row of the result: the pinned one, or an early one. Choose a cell to reveal it; R shows the row, A all.";
const LARGEST = "They end at the largest weight.";
const LONG = "On by itself in a long text: of ten rows, nine have no weight above it.";

/**
 * The switch that darkens the colours of weights; none where they end at 1 anyway.
 * @param {WalkDocument} document @param {WalkValues} values @returns {Switch[]}
 */
function darkening(document, { head, stretch }) {
  const columns = document.header.key.labels.length;
  const found = darkened(document, head);
  if (found && !found.changes) return [];
  const label = found ? `Darken: colours end at ${found.end}, not 1` : "Darken the colours";
  const help = columns >= MANY ? LONG : LARGEST;
  return [{ name: "stretch", label, help, isOn: darkens(stretch, columns), other: turned(stretch, columns) }];
}

/**
 * @param {WalkDocument} document @param {WalkValues} values @param {{ home: Home, lecture: boolean }} place
 * @returns {Offered}
 */
export function offered(document, values, { home, lecture }) {
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
    drawings: (step?.picture && home.drawings) || [],
    layers,
    heads: header.heads,
    layerLabel: layers.length || !home.onlyLayer ? `layer ${layer}` : home.onlyLayer,
    place: lecture && header.kind !== "averages" ? `${placeOf(header, layers)}head ${head}` : "",
    switches: [
      ...(step?.can_be_covered && drawing === "stage" ? [guess] : []),
      ...(step?.can_be_stretched ? darkening(document, values) : []),
    ],
  };
}

/**
 * Where a head is in the model.
 * @param {WalkDocument["header"]} header @param {number[]} layers those to choose from
 */
function placeOf({ kind, place, layer }, layers) {
  if (kind === "block") return `${place} · `;
  return layers.length ? `layer ${layer} · ` : "";
}

/**
 * What scores are multiplied by, and what hidden cells hold: the motion of a step says it.
 * @param {import("../core/document.js").Header} header
 */
export const factorsOf = (header) => ({ scale: header.scale, hidden: hiddenValue(header) });

/**
 * The row to guess where none is pinned: the first that sees more than two keys.
 * @param {WalkDocument["header"]} header
 */
export const firstGuess = ({ mask, query }) =>
  mask === "causal" ? Math.max(0, Math.min(2, query.labels.length - 1)) : 0;

/** Which row is covered, and what to do. @param {number} row @param {string} label */
export const guessLine = (row, label) =>
  `Row ${row}, “${label}”, is covered. Guess, then choose a cell; R shows the row.`;

/** What a link asks for in vain. @param {string} focus @param {string} step */
export const noFocus = (focus, step) =>
  `The link’s focus=${focus} is not a matrix of ${step}, so all matrices are shown.`;

/** A value as a link has it. @param {WalkValues} values @returns {Record<string, string>} */
export function written({ step, layer, head, drawing, predict, stretch }) {
  return { step, layer: String(layer), head: String(head), drawing, predict: predict ? "1" : "0", stretch };
}

/** @param {string} name @param {string} value @returns {Partial<WalkValues>} */
export function read(name, value) {
  if (name === "layer" || name === "head") return { [name]: Number(value) };
  return { [name]: name === "predict" ? value === "1" : value };
}
