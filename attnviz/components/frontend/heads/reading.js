// The texts about the hovered head, cell or token.

import { endText } from "../core/dark_end.js";
import { element, result, span } from "../core/dom.js";
import { normMeasure } from "./norm_measures.js";
import { certainDigits, filtered, strongestOf } from "./values.js";
import { tokenNode, valueLine } from "./tooltip.js";
import { drawnSentence, headName, hiddenSentence, labelRule, labelText, meanNote, rolloutNote } from "./words.js";
import { fixed, weightText } from "../core/format.js";
import { marked } from "../marks/text.js";

/** @typedef {import("./store.js").Store} Store */
/** @typedef {{ shown: number, total: number }} Drawn how many weights are lines, of how many */
/** @typedef {{ heads: ShownHead[], frame: HeadFrame, labels: { query: string[], key: string[] } }} About */

const BEST = 3; // tokens that a token's tooltip lists

/**
 * A head's measures as [{title, text, value}].
 * @param {Store} store @param {HeadId} head
 */
export function measuresOf(store, head) {
  if (head[1] < 0) return [];
  const values = store.measuresOf(head);
  return store.header.measures.map(({ title, unit }, n) => ({
    title,
    value: values[n],
    text: measureText(values[n], unit),
  }));
}

/** @param {Store} store @param {HeadId} head */
export const labelsOf = ({ header }, head) => (head[1] < 0 ? [] : (ofHead(header, header.labels, head) ?? []));

/**
 * @template T
 * @param {ExplorerHeader} header @param {T[][] | undefined} all of each layer's heads @param {HeadId} head
 */
const ofHead = ({ layers }, all, [layer, head]) => all?.[layers.indexOf(layer)]?.[head];

/**
 * What is said of a head beside its measures: what the page says, or its labels.
 * @param {Store} store @param {HeadId} head
 */
function saidOf(store, head) {
  return ofHead(store.header, store.header.said, head) ?? labelsOf(store, head).map(labelText);
}

/** A label with its rule. @param {string} label */
export function labelNode(label) {
  const rule = labelRule(label);
  return element("span", { class: "label", ...(rule && { title: rule }) }, labelText(label));
}

/**
 * All about a head in one line, for those who do not see the grid.
 * @param {Store} store @param {HeadId} head
 */
export function headSentence(store, head) {
  const [layer, own] = head;
  const about = measuresOf(store, head).map(({ title, text }) => `${title} ${text}`);
  return [`layer ${layer} head ${own}`, ...saidOf(store, head), ...about].join("; ");
}

/**
 * A head of the grid: its name, its labels and its measures.
 * @param {Store} store @param {HeadId} head
 */
export function headReading(store, head) {
  const labels = saidOf(store, head).map((label) => span("label", label));
  const rows = measuresOf(store, head).map(({ title, text, value }) => {
    const shown = result(value, text);
    return element("div", { class: "value-line" }, span("name", title), shown);
  });
  return [
    element("div", { class: "title" }, headName(head)),
    ...(labels.length ? [element("div", { class: "labels" }, ...labels)] : []),
    ...rows,
  ];
}

/**
 * The current head's measures, to stand under the grid: of its weights, or of its norms.
 * @param {Store} store @param {HeadId} head @param {boolean} ofNorms
 */
export function measureList(store, head, ofNorms) {
  const norms = ofNorms ? normsOf(store, head) : null;
  const { measures, cols } = store.header;
  const texts = norms
    ? measures.map((one) => ({ title: one.title, text: measureText(normMeasure(one, norms, cols), one.unit) }))
    : measuresOf(store, head);
  const about = norms ? [element("div", { class: "about" }, "of norms, each row divided by its sum")] : [];
  return [
    ...about,
    ...texts.map(({ title, text }) => element("div", {}, element("dt", {}, title), element("dd", {}, text))),
  ];
}

/**
 * All norms of a head, whatever is hidden; null until its weights have come.
 * @param {Store} store @param {HeadId} head
 */
function normsOf(store, head) {
  const [codes, lengths] = [store.codes(head), store.keyNorms(head)];
  return codes && lengths && filtered(codes, store.frame, { special: "keep", between: "all" }, lengths).at;
}

/** @param {number} value @param {string} unit */
const measureText = (value, unit) => (Number.isNaN(value) ? "–" : `${fixed(value, 3)}${unit ? ` ${unit}` : ""}`);

/** A token's name, which names its row or its column in the pictures. @type {typeof tokenNode} */
export const namedToken = (kind, label, index) =>
  marked(tokenNode(kind, label, index), kind === "query" ? { row: index } : { column: index });

/** A head's name, which names it in the grid. @param {string} name @param {HeadId} head */
export const headNode = (name, [layer, head]) => marked(span("name", name), { layer, head });

/**
 * A cell: both tokens, and its number in each head that is shown.
 * @param {About} about @param {{ q: number, k: number }} at @param {typeof tokenNode} token makes a token's name
 */
export function cellReading({ heads, frame, labels }, { q, k }, token = tokenNode) {
  const n = q * frame.cols + k;
  const missing = (frame.causal && k > q) || frame.hidden?.[n] ? "masked" : "hidden";
  return [
    element("div", { class: "title" }, token("query", labels.query[q], q), " → ", token("key", labels.key[k], k)),
    ...heads.map(({ name, colour, at, errors }) =>
      valueLine({ colour, name, value: at[n], digits: certainDigits(errors[q]), missing }),
    ),
  ];
}

/**
 * A token: where it looks most, or who looks at it most.
 * @param {About} about @param {Pair} at @param {typeof tokenNode} token makes a token's name
 */
export function tokenReading({ heads, frame, labels }, { q, k }, token = tokenNode) {
  const [kind, index] = q === null ? /** @type {const} */ (["key", k ?? 0]) : /** @type {const} */ (["query", q]);
  const other = kind === "query" ? "key" : "query";
  const said = kind === "query" ? "looks most at" : "is looked at most by";
  const title = element("div", { class: "title" }, token(kind, labels[kind][index], index), ` ${said}`);
  const lines = heads.flatMap(({ name, colour, at, errors }) =>
    strongestOf(along(at, frame, kind, index), BEST).map(([place, value]) => {
      const digits = certainDigits(errors[kind === "query" ? index : place]);
      return element(
        "div",
        { class: "value-line" },
        element("i", { class: "swatch", style: `background:${colour}`, title: name }),
        token(other, labels[other][place], place),
        result(value, weightText(value, digits)),
      );
    }),
  );
  return [title, ...(lines.length ? lines : [span("none", "nothing shown here")])];
}

/**
 * One row or one column of a matrix.
 * @param {Float32Array} at @param {CellCount} frame @param {"query" | "key"} kind @param {number} index
 */
function along(at, { rows, cols }, kind, index) {
  if (kind === "query") return at.subarray(index * cols, (index + 1) * cols);
  return Float32Array.from({ length: rows }, (_, i) => at[i * cols + index]);
}

/**
 * What is drawn and what is not: `shown` is the scene, `drawn` and `fit` what the pictures could take.
 * @param {{ view: HeadsView, shown: ShownScene, frame: HeadFrame, drawn: Drawn, fit: number }} given
 */
export function drawnText({ view, shown, frame, drawn, fit }) {
  const { heads, least, strongest } = shown;
  const said = [meanNote(view), rolloutNote(view.chosen)];
  if (heads.length) {
    if (view.show !== "heatmap") said.unshift(drawnSentence(drawn, { least, strongest, heads: heads.length }));
    const isDarker = shown.isDarkened && shown.high === shown.dark;
    if (shown.isLong && isDarker) said.push(`Colours end at ${endText(shown.high)}, not 1.`);
    said.push(hiddenSentence({ ...heads[0], cells: frame.rows * frame.cols }));
    if (view.show !== "lines" && fit < heads.length) {
      said.push(`Heatmaps of the first ${fit} of ${heads.length} heads: more do not fit.`);
    }
  }
  return said.filter(Boolean).join(" ");
}

/**
 * Why a head's numbers are not there: on their way, or in vain, with a button to ask again.
 * @param {HeadId} head @param {(() => void) | null} onAgain @returns {(Node | string)[]}
 */
export function waitingNote(head, onAgain) {
  const what = `The exact weights of ${headName(head)}`;
  if (!onAgain) return [`${what} are on their way.`];
  const again = element("button", { type: "button" }, "Ask again");
  again.addEventListener("click", onAgain);
  return [`${what} have not come. `, again];
}
