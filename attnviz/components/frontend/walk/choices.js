// What there is to choose from in a walk, and its values as a link has them: "weights", "3", "1".

/** @type {Offered["switches"]} */
const SWITCHES = [
  [
    "predict",
    "Guess a row",
    "Covers one row of the result: the pinned one, or the first. Click a cell to reveal it; R reveals the row, A all.",
  ],
  ["stretch", "Stretch colours", "End the colours at the largest weight, not at 1."],
];

/**
 * @param {WalkDocument} document @param {WalkValues} values @param {{ home: Home, lecture: boolean }} place
 * @returns {Offered}
 */
export function offered({ header }, { step: name, layer, head, drawing }, { home, lecture }) {
  const step = header.steps.find((one) => one.name === name);
  /** @type {Record<string, boolean | undefined>} */
  const isOffered = { predict: step?.can_be_covered && drawing === "stage", stretch: step?.can_be_stretched };
  const layers = home.layers ?? 0;
  return {
    steps: header.steps.map(({ name: value, title }) => [value, title]),
    drawings: (step?.picture && home.drawings) || [],
    layers,
    heads: header.heads,
    layerLabel: layers || !home.onlyLayer ? `layer ${layer}` : home.onlyLayer,
    place: lecture ? `${layers ? `layer ${layer} · ` : ""}head ${head}` : "",
    switches: SWITCHES.filter(([value]) => isOffered[value]),
  };
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
