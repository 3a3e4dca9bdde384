// The page's sentences: names of heads, the effect of each filter, and how much of the weights is drawn.

import { sumOf } from "../core/arithmetic.ts";
import { BROAD_ENTROPY, FAINT_BELOW, ROLLOUT } from "../core/constants.ts";
import { endText } from "../core/colour_limit.ts";
import { number, percent, whole } from "../core/format.ts";
import { nothingHovers } from "../core/touch.ts";
import { LEAST } from "./values.ts";
import { CAP } from "../lines/choice.ts";

export const headName = ([layer, head]: HeadId) =>
  head === ROLLOUT ? `rollout up to layer ${layer}` : `layer ${layer} · head ${head}`;

/** How a head is chosen in the grid. @param isAlone whether only one can be */
export function howToChoose({ isAlone }: { isAlone: boolean }, isTouch = nothingHovers()) {
  if (isTouch) return "Tap a head to choose it.";
  if (isAlone) return "Click a head, or use the arrow keys, to choose it.";
  return "Click a head to choose it; Ctrl or Shift adds or removes it. With arrow keys, Shift adds.";
}

/** The label that is shown by other words than links have. Its rule is in measures/summary.py. */
const BROAD = "broad";
/** The same of a head whose queries may not see all keys: behind a causal mask, or in a window. */
const BROAD_LIMITED = "broad, limited";
const BROAD_RULE =
  `The entropy of its rows is at least ${percent(BROAD_ENTROPY)} of that of uniform attention ` + "in its layer.";

/** A label as it is shown. @param label as a link has it */
export const labelText = (label: string) =>
  label === BROAD ? "looks everywhere" : label === BROAD_LIMITED ? "looks everywhere it may" : label;

/** A label of a head whose queries may not see all keys, as the texts here take it. */
export const limitedLabel = (label: string) => (label === BROAD ? BROAD_LIMITED : label);

/** The rule of a label, where its words do not say it. */
export const labelRule = (label: string) => (label === BROAD || label === BROAD_LIMITED ? BROAD_RULE : "");

export const SPECIAL = {
  keep: "keep",
  hide: "hide",
  renormalise: "hide and renormalise",
};

export const BETWEEN = {
  all: "all tokens",
  aa: "A → A",
  ab: "A → B",
  ba: "B → A",
  bb: "B → B",
};

const SPECIAL_NOTES: Record<string, string> = {
  hide: "Weights from and to special tokens are left out. The others stay as they are, so rows no longer sum to 1.",
  renormalise:
    "Special tokens are left out, and each row is divided by what remains, so that it sums to 1 again. " +
    "These are no longer the model’s own weights.",
};

const SENTENCES: Record<string, string> = { a: "the first sentence (A)", b: "the second (B)" };

/** What the setting for special tokens does; nothing where it does nothing. */
export function specialNote({ special }: { special: string }) {
  return SPECIAL_NOTES[special] ?? "";
}

export function betweenNote({ between }: { between: string }) {
  if (between === "all") return "";
  const [from, to] = [SENTENCES[between[0]], SENTENCES[between[1]]];
  const where = from === to ? `within ${from}` : `from ${from} to ${to}`;
  return `Only weights ${where}, as they are. Special tokens belong to neither sentence.`;
}

export function valuesNote({ values }: { values: string }) {
  if (values !== "norms") return "";
  return (
    "Each weight times the length of the vector that it multiplies: ‖α·f(x)‖ (Kobayashi et al., 2020). " +
    "Rows do not sum to 1."
  );
}

/**
 * What stands out in the grid: the order of a measure, and the heads with a label, where `faded` marks the others.
 * @param given `without` is the name of the current head if it does not carry the label.
 */
export function gridSentence({
  measure,
  faded,
  label,
  without = "",
}: {
  measure: { title: string } | null | undefined;
  faded: Uint8Array | null;
  label: string;
  without?: string;
}) {
  const said = measure ? `Ranked by ${measure.title}, largest first. ` : "";
  if (!faded) return said;
  const rest = sumOf(faded);
  const other = without ? `Shown is ${without}, which is not one of them. ` : "";
  return `${said}${faded.length - rest} of ${faded.length} heads: ${labelText(label)}. ${other}`;
}

/** What darkening does. @param end of the colours then */
export const darkenText = (end: number) => `Darken: colours end at ${endText(end)}, not 1`;

/** Why the sheet is nearly empty. */
export const FAINT = `Most rows have no weight above ${FAINT_BELOW}, and the colours go to 1: so they are faint.`;

/** What is put together into one picture. */
export function meanNote({ mean, chosen }: { mean: boolean; chosen: HeadId[] }) {
  return mean && chosen.length > 1 ? `Every number is the mean of the ${chosen.length} chosen heads’.` : "";
}

export function rolloutNote(chosen: HeadId[]) {
  const rolled = chosen.find(([, head]) => head === ROLLOUT);
  if (!rolled) return "";
  const layers = rolled[0] === 0 ? "layer 0" : `layers 0 to ${rolled[0]} multiplied`;
  const included = "heads averaged, the residual path included";
  return `Attention rollout (Abnar and Zuidema, 2020): ${layers}, ${included}. Rows sum to 1.`;
}

/** "132 of 4,096 weights are drawn as lines: those ≥ 0.05." */
export function drawnSentence(
  { shown, total }: { shown: number; total: number },
  { least, strongest, heads }: { least: number; strongest: number; heads: number },
) {
  if (!total) return "Nothing is left to draw.";
  const what = heads > 1 ? `weights of ${heads} heads` : "weights";
  if (shown === total) {
    return total === 1 ? "The one weight is drawn as a line." : `All ${whole(total)} ${what} are drawn as lines.`;
  }
  const limits = [
    shown === CAP && `the ${whole(CAP)} largest, for more can’t be told apart`,
    strongest > 0 && `the ${strongest} strongest of each query`,
    least > 0 ? `those ≥ ${limitText(least)}` : "those above 0",
  ];
  return `${whole(shown)} of ${whole(total)} ${what} are drawn as lines: ${limits.filter(Boolean).join(", ")}.`;
}

/** A threshold as it is written. */
export const limitText = (least: number) => number(least, least > 0 && least < 0.01 ? 4 : 2);

/** What is missing in the heatmaps, and why; of several, all cells are counted. */
export function hiddenSentence({
  cells,
  shown,
}: {
  cells: number;
  shown: Pick<ShownValues, "seen" | "short" | "kept">[];
}) {
  const said = [];
  const all = cells * shown.length;
  const [seen, short] = [shown.map((one) => one.seen), shown.map((one) => one.short)].map(sumOf);
  if (seen < all) {
    const isCut = shown.some(({ kept }) => kept && (kept.queries.includes(0) || kept.keys.includes(0)));
    const which = isCut ? "masked (hatched) or left out (plain)" : "masked (hatched)";
    const where = shown.length > 1 ? ` of ${shown.length} heads` : "";
    said.push(`${whole(all - seen)} of ${whole(all)} cells${where} are ${which}.`);
  }
  if (short) {
    const rows = `${whole(short)} ${short === 1 ? "row is" : "rows are"}`;
    said.push(`${rows} hidden because less than ${LEAST} of the weight is left to divide by.`);
  }
  return said.join(" ");
}

/** A token's text; what can't be seen is named. */
export function tokenText(label: string) {
  if (label === "") return "(empty)";
  return label.trim() === "" ? "(blank)" : label;
}
