// The texts about the hovered head, cell or token.

import { strongestOf } from "../core/arithmetic.ts";
import { endText } from "../core/colour_limit.ts";
import { MASK_REASONS } from "../core/constants.ts";
import { reasonOf } from "../core/mask_reasons.ts";
import { result, span, template } from "../core/template.ts";
import { normMeasure } from "./norm_measures.ts";
import { certainDigits, filtered } from "./values.ts";
import { swatch, tokenOf, tokenParts, valueLine } from "./tooltip.ts";
import {
  drawnSentence,
  headName,
  hiddenSentence,
  labelRule,
  labelText,
  limitedLabel,
  meanNote,
  rolloutNote,
} from "./words.ts";
import { fixed, weightText } from "../core/format.ts";
import { markedSpan } from "../marks/text.ts";
import type { Child } from "../core/template.ts";
import type { Store } from "./store.ts";

/** how many weights are lines, of how many */
export type Drawn = { shown: number; total: number };
export type About = { heads: ShownHead[]; frame: HeadFrame; labels: { query: string[]; key: string[] } };

const GLOBAL = "global"; // of a layer without a window, in a model with windows
const BEST = 3; // tokens that a token's tooltip lists

/** A head's measures as [{title, text, value}]. */
export function measuresOf(store: Store, head: HeadId) {
  if (head[1] < 0) return [];
  const values = store.measuresOf(head);
  return store.header.measures.map(({ title, unit }, n) => ({
    title,
    value: values[n],
    text: measureText(values[n], unit),
  }));
}

export const labelsOf = ({ header }: Store, head: HeadId) =>
  head[1] < 0 ? [] : (ofHead(header, header.labels, head) ?? []);

/** @param all of each layer's heads */
const ofHead = <T>({ layers }: ExplorerHeader, all: T[][] | undefined, [layer, head]: HeadId) =>
  all?.[layers.indexOf(layer)]?.[head];

/** What is said of a head beside its measures: what the page says, or its labels. */
function saidOf(store: Store, head: HeadId) {
  return ofHead(store.header, store.header.said, head) ?? shownLabels(store, head).map(labelText);
}

/** A head's labels as they are said of it: it looks no farther than its layer's mask allows. */
export const shownLabels = (store: Store, head: HeadId) =>
  labelsOf(store, head).map(isLimited(store.header, head[0]) ? limitedLabel : (label) => label);

/** A label as it is said of all heads that have it. */
export const labelOfAll = (header: ExplorerHeader, label: string) =>
  header.layers.some((layer) => isLimited(header, layer)) ? limitedLabel(label) : label;

/** Whether the mask of a layer shows some queries other keys than others. */
const isLimited = ({ layers, limited = [] }: ExplorerHeader, layer: number) => limited[layers.indexOf(layer)] ?? false;

/** A label with its rule. */
export const labelSpan = (label: string) =>
  template("span", { class: "label", title: labelRule(label) || undefined }, labelText(label));

/** What the grid marks of the layers: heads that share keys, and which layers have a window. */
export function gridMarks({ shared_by: sharing = [], layer_marks: marks = [] }: ExplorerHeader) {
  const [sharedBy = 1] = sharing;
  const isSame = sharing.every((each) => each === sharedBy);
  return { sharedBy: isSame ? sharedBy : 1, ...(marks.length && { local: marks.map((mark) => mark !== GLOBAL) }) };
}

/** "window of 4", or "global"; "" in a model without windows. */
const markOf = ({ layers, layer_marks: marks = [] }: ExplorerHeader, layer: number) =>
  marks[layers.indexOf(layer)] ?? "";

/**
 * Which layers have a window, as the bars beside them say, to stand before another sentence; "" where none has.
 * @param isRanked whether heads stand in the order of a measure, where layers have no bars
 */
export function windowsNote({ layer_marks: marks = [] }: ExplorerHeader, isRanked = false) {
  const wide = [...new Set(marks.filter((mark) => mark !== GLOBAL))];
  if (!wide.length) return "";
  const widths = wide.map((mark) => mark.replace("window of ", "")).join(" or ");
  const isMixed = marks.includes(GLOBAL);
  const local = marks.filter((mark) => mark !== GLOBAL).length;
  const some = isRanked ? `${local} of ${marks.length} layers have` : "Layers with a bar have";
  const which = isMixed ? some : marks.length > 1 ? "All layers have" : "The layer has";
  return `${which} a window of ${widths} keys${isMixed ? "; the others are global" : ""}. `;
}

/** What the brackets and bars of the grid mean, for an exported picture; "" where it has none. */
export function marksNote(header: ExplorerHeader, isRanked = false) {
  const { sharedBy } = gridMarks(header);
  const brackets = sharedBy > 1 && !isRanked ? "Heads under one bracket share their keys and values." : "";
  return `${brackets} ${windowsNote(header, isRanked)}`.trim();
}

/** All about a head in one line, for those who do not see the grid. */
export function headSentence(store: Store, head: HeadId) {
  const [layer, own] = head;
  const about = measuresOf(store, head).map(({ title, text }) => `${title} ${text}`);
  const mark = markOf(store.header, layer);
  return [`layer ${layer} head ${own}`, ...(mark ? [mark] : []), ...saidOf(store, head), ...about].join("; ");
}

/** A head of the grid: its name, its labels and its measures. */
export function headReading(store: Store, head: HeadId) {
  const labels = saidOf(store, head).map((label) => span("label", label));
  const mark = markOf(store.header, head[0]);
  const rows = measuresOf(store, head).map(({ title, text, value }) =>
    template("div", { class: "value-line" }, span("name", title), result(value, text)),
  );
  return [
    template("div", { class: "title" }, headName(head)),
    mark !== "" && template("div", { class: "labels" }, span("label", mark)),
    labels.length > 0 && template("div", { class: "labels" }, ...labels),
    ...rows,
  ];
}

/** The current head's measures, to stand under the grid: of its weights, or of its norms. */
export function measureList(store: Store, head: HeadId, ofNorms: boolean) {
  const norms = ofNorms ? normsOf(store, head) : null;
  const { measures, cols } = store.header;
  const texts = norms
    ? measures.map((one) => ({ title: one.title, text: measureText(normMeasure(one, norms, cols), one.unit) }))
    : measuresOf(store, head);
  return [
    norms && template("div", { class: "about" }, "of norms, each row divided by its sum"),
    ...texts.map(({ title, text }) => template("div", {}, template("dt", {}, title), template("dd", {}, text))),
  ];
}

/** All norms of a head, whatever is hidden; null until its weights have come. */
function normsOf(store: Store, head: HeadId) {
  const [codes, lengths] = [store.codes(head), store.keyNorms(head)];
  return codes && lengths && filtered(codes, store.frame, { special: "keep", between: "all" }, lengths).at;
}

const measureText = (value: number, unit: string) =>
  Number.isNaN(value) ? "–" : `${fixed(value, 3)}${unit ? ` ${unit}` : ""}`;

/** A token's name, which names its row or its column in the pictures. */
export const namedToken: typeof tokenOf = (kind, label, index) => {
  const target = kind === "query" ? { row: index } : { column: index };
  return markedSpan(`token ${kind}`, target, ...tokenParts(label, index));
};

/** A head's name, which names it in the grid. */
export const namedHead = (name: string, [layer, head]: HeadId) => markedSpan("name", { layer, head }, name);

/** A cell: both tokens, and its number in each head that is shown. @param token makes a token's name */
export function cellReading(
  { heads, frame, labels }: About,
  { q, k }: { q: number; k: number },
  token: typeof tokenOf = tokenOf,
): Child[] {
  const n = q * frame.cols + k;
  const missing = ({ reasons }: ShownHead) => {
    const reason = reasons && reasonOf(reasons, q, k);
    if (reason) return `masked: ${MASK_REASONS[reason].words}`;
    return (frame.causal && k > q) || frame.hidden?.[n] ? "masked" : "hidden";
  };
  return [
    template("div", { class: "title" }, token("query", labels.query[q], q), " → ", token("key", labels.key[k], k)),
    ...heads.map((head) => {
      const { name, colour, at, errors } = head;
      return valueLine({ colour, name, value: at[n], digits: certainDigits(errors[q]), missing: missing(head) });
    }),
  ];
}

/** A token: where it looks most, or who looks at it most. @param token makes a token's name */
export function tokenReading({ heads, frame, labels }: About, { q, k }: Pair, token = tokenOf): Child[] {
  const [kind, index] = q === null ? (["key", k ?? 0] as const) : (["query", q] as const);
  const other = kind === "query" ? "key" : "query";
  const said = kind === "query" ? "looks most at" : "is looked at most by";
  const title = template("div", { class: "title" }, token(kind, labels[kind][index], index), ` ${said}`);
  const lines = heads.flatMap(({ name, colour, at, errors }) =>
    strongestOf(along(at, frame, kind, index), BEST).map(([place, value]) => {
      const digits = certainDigits(errors[kind === "query" ? index : place]);
      const shown = token(other, labels[other][place], place);
      const number = result(value, weightText(value, digits));
      return template("div", { class: "value-line" }, swatch(colour, name), shown, number);
    }),
  );
  return [title, ...(lines.length ? lines : [span("none", "nothing shown here")])];
}

/** One row or one column of a matrix. */
function along(at: Float32Array, { rows, cols }: CellCount, kind: "query" | "key", index: number) {
  if (kind === "query") return at.subarray(index * cols, (index + 1) * cols);
  return Float32Array.from({ length: rows }, (_, i) => at[i * cols + index]);
}

/** What is drawn and what is not: `shown` is the scene, `drawn` and `fit` what the pictures could take. */
export function drawnText({
  view,
  shown,
  frame,
  drawn,
  fit,
}: {
  view: HeadsView;
  shown: ShownScene;
  frame: HeadFrame;
  drawn: Drawn;
  fit: number;
}) {
  const { heads, least, strongest } = shown;
  const said = [meanNote(view), rolloutNote(view.chosen)];
  if (heads.length) {
    if (view.show !== "heatmap") said.unshift(drawnSentence(drawn, { least, strongest, heads: heads.length }));
    const isDarker = shown.isDarkened && shown.high === shown.dark;
    if (shown.isLong && isDarker) said.push(`Colours end at ${endText(shown.high)}, not 1.`);
    said.push(hiddenSentence({ shown: heads, cells: frame.rows * frame.cols }));
    if (view.show !== "lines" && fit < heads.length) {
      said.push(`Heatmaps of the first ${fit} of ${heads.length} heads: more do not fit.`);
    }
  }
  return said.filter(Boolean).join(" ");
}

/** Why a head's numbers are not there: on their way, or in vain, with a button to ask again. */
export function waitingNote(head: HeadId, onAgain: (() => void) | null): Child[] {
  const what = `The exact weights of ${headName(head)}`;
  if (!onAgain) return [`${what} are on their way.`];
  return [`${what} have not come. `, template("button", { type: "button", onclick: onAgain }, "Ask again")];
}
