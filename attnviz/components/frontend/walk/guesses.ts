// The model's answer below the sentence: the tokens that it expects in the place of a mask, or after a row.

import { percent, quoted } from "../core/format.ts";
import { element } from "../core/dom.ts";
import { span, template } from "../core/template.ts";
import { GUESSES } from "../core/document.ts";
import type { Header, RowGuesses, StepText } from "../core/document.ts";
import type { Child } from "../core/template.ts";
import { wordOf } from "./row_words.ts";

const MOST = 3; // masks whose guesses are listed
const LEAST = 0.001; // of all: a less likely token is named only if none is more likely

/**
 * The guesses for the row that is shown; of an encoder, for its masks.
 * @param hiding the word that is hidden
 */
export function guessesOf(header: Header, row: number, { hidden = null }: Pick<Hiding, "hidden"> = {}) {
  const { attention, guesses, guesses_note: note } = header;
  const own = guesses.filter((of) => of.row === row);
  const shown = attention === "encoder" && !own.length ? guesses.slice(0, MOST) : own;
  const hiddenAt = (place: number) => (hidden?.row === place ? hidden.label : "");
  const truth = (place: number) => (attention === "encoder" ? hiddenAt(place) : nextOf(header, place));
  const lines = shown.map((of) => lineOf(header, of, truth(of.row)));
  if (attention !== "encoder" && guesses.length && row < guesses[0].row) lines.push(onlyLast(guesses.length));
  if (!lines.length) return null;
  return template("div", { class: "answer" }, ...lines, note && template("p", { class: "caveat" }, note));
}

const onlyLast = (count: number) =>
  template("p", { class: "guesses" }, `The model’s guesses are computed for the last ${count} tokens of a long text.`);

/** The token that follows a row in the text, as guesses name it; "" after the last one. */
function nextOf({ query }: Header, row: number) {
  const label = query.labels[row + 1] ?? "";
  return label.replace(/^[␣▁]+/, "") || label;
}

/**
 * The guesses of a row as a line.
 * @param truth the token that stands there, or ""
 */
function lineOf({ attention, query, guesses }: Header, { row, labels, shares }: RowGuesses, truth: string) {
  const isMask = attention === "encoder";
  const name = span("query", isMask ? wordOf(query, row) : quoted(wordOf(query, row)));
  const place = isMask && guesses.length > 1 ? ` (position ${row})` : "";
  const says = [`The model’s guesses ${isMask ? "for" : "after"} `, name, `${place}:`];
  return guessLine(row, says, { labels, shares }, truth);
}

/**
 * Guesses as a line.
 * @param says what stands before them
 * @param truth the token that stands there, or ""
 */
export function guessLine(
  key: string | number,
  says: Child[],
  { labels, shares }: Pick<RowGuesses, "labels" | "shares">,
  truth: string,
) {
  const listed = labels.filter((_, n) => n === 0 || shares[n] >= LEAST);
  return template(
    "p",
    { key, class: "guesses" },
    template("span", {}, ...says),
    ...listed.map((label, n) => expected(label, shares[n], label === truth)),
  );
}

/** A token that the model expects. @param isTrue whether it is the one that stands there */
export const expected = (label: string, part: number, isTrue: boolean) =>
  template(
    "span",
    { class: isTrue ? "expected true" : "expected", style: { "--share": part.toFixed(3) } },
    template("bdi", {}, label),
    ` ${percent(part)}`,
    isTrue && template("span", { title: "It is what stands there" }, " ✓"),
  );

/** What can be hidden from the model, and what is: as of Home. */
export type Hiding = Pick<Home, "hides" | "hidden">;

/**
 * Buttons that hide the pinned word from the model, and that show the hidden one again.
 * @param does what they do: as of Sentence
 */
export function hidingOf(
  { query, guesses }: Header,
  pinned: number | null,
  { hides = false, hidden = null }: Hiding,
  does: (row: number | null) => void,
) {
  const isMask = guesses.some(({ row }) => row === pinned);
  const isWord = pinned !== null && Boolean(query.places[pinned]) && !isMask;
  const button = (key: string, row: number | null, text: string) =>
    template("button", { key, type: "button", onclick: () => does(row) }, text);
  if (!hides && !hidden) return null;
  return template(
    "p",
    { class: "hiding" },
    hidden && button("show", null, `Show ${quoted(hidden.word)} again`),
    hidden?.ranked && template("a", { href: hidden.ranked }, `The rank of ${quoted(hidden.word)}`),
    hides &&
      isWord &&
      button("hide", pinned, `Hide ${quoted(wordOf(query, pinned))}${hidden ? " instead" : ", to be guessed"}`),
  );
}

/**
 * Below a picture: which word the model does not read, and a button that shows it again.
 * @param does as of Sentence
 */
export const hiddenWord = ({ word, masks }: HiddenWord, does: (row: null) => void) => [
  `The model does not read ${quoted(word)}: ${masks} stands there. `,
  element("button", { type: "button", onclick: () => does(null) }, `Show ${quoted(word)} again`),
];

/** The name among the arrays of a document of the guesses, where they have to be fetched and the step shows them. */
export function missingGuesses({ guesses_at: at, steps }: Header, step: StepText | null, home: Pick<Home, "follows">) {
  const isShown = step === steps.at(-1) ? Boolean(home.follows) : step === steps[0] && !step?.picture;
  return at && isShown ? [GUESSES] : [];
}
