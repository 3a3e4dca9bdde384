// What there is to choose from in a walk, and its values as a link has them: "weights", "3", "1".

import { darkened } from "./pictures.js";

/** @type {Offered["switches"]} */
const SWITCHES = [
  [
    "predict",
    "Guess a row",
    "Covers one row of the result: the pinned one, or an early one. A click reveals a cell, R the row, A all.",
  ],
];

/**
 * The switch that darkens the colours of weights; none where they end at 1 anyway. In a long text it is on by itself.
 * @param {WalkDocument} document @param {number} head @returns {Offered["switches"]}
 */
function darkens(document, head) {
  const found = darkened(document, head);
  if (!found) return [["stretch", "Darken the colours", ""]];
  if (!found.changes) return [];
  if (!found.byItself) {
    return [["stretch", `Darken: colours end at ${found.end}, not 1`, "They end at the largest weight."]];
  }
  const why = "By itself in a long text: of ten rows, nine have no weight above it.";
  return [["stretch", `Colours end at ${found.end}, not 1`, why, true]];
}

/**
 * @param {WalkDocument} document @param {WalkValues} values @param {{ home: Home, lecture: boolean }} place
 * @returns {Offered}
 */
export function offered(document, { step: name, layer, head, drawing }, { home, lecture }) {
  const { header } = document;
  const at = header.steps.findIndex((one) => one.name === name);
  const [previous, step, next] = [at - 1, at, at + 1].map((n) => header.steps[n]);
  const guesses = step?.can_be_covered && drawing === "stage" ? SWITCHES : [];
  const layers = home.layers ?? 0;
  return {
    steps: header.steps.map(({ name: value, title }) => [value, title]),
    previous: previous ? { step: previous.name } : null,
    next: next ? { step: next.name } : null,
    drawings: (step?.picture && home.drawings) || [],
    layers,
    heads: header.heads,
    layerLabel: layers || !home.onlyLayer ? `layer ${layer}` : home.onlyLayer,
    place: lecture && header.kind !== "averages" ? `${placeOf(header, layers)}head ${head}` : "",
    switches: [...guesses, ...(step?.can_be_stretched ? darkens(document, head) : [])],
  };
}

/**
 * Where a head is in the model.
 * @param {WalkDocument["header"]} header @param {number} layers how many there are to choose from
 */
function placeOf({ kind, place, layer }, layers) {
  if (kind === "block") return `${place} · `;
  return layers ? `layer ${layer} · ` : "";
}

/** Which row is covered, and what to do. @param {number} row @param {string} label */
export const guessLine = (row, label) =>
  `Row ${row}, “${label}”, is covered. Guess, then click a cell; R shows the row.`;

/** A value as a link has it. @param {WalkValues} values @returns {Record<string, string>} */
export function written({ step, layer, head, drawing, predict, stretch }) {
  const [predicts, stretches] = [predict, stretch].map((on) => (on ? "1" : "0"));
  return { step, layer: String(layer), head: String(head), drawing, predict: predicts, stretch: stretches };
}

/** @param {string} name @param {string} value @returns {Partial<WalkValues>} */
export function read(name, value) {
  if (name === "layer" || name === "head") return { [name]: Number(value) };
  return { [name]: name === "predict" || name === "stretch" ? value === "1" : value };
}
