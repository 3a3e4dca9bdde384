// The first step: the words of the text in large type, and arcs from one of them to the words that it looks at, with
// their shares. One press writes out how the largest share comes about. Pointing at a word shows its row, a click keeps
// it.

import { INK } from "../core/colours.ts";
import { element, perFrame } from "../core/dom.ts";
import { share } from "../core/format.ts";
import { template, write } from "../core/template.ts";
import { arch, downward, loop } from "./arcs.ts";
import { guessesOf, hidingOf } from "./guesses.ts";
import {
  findingOf,
  isJoined,
  isRightToLeft,
  largest,
  listOf,
  saidOf,
  tellingRow,
  wordOf,
  writtenOut,
} from "./row_words.ts";
import type { AttentionRow } from "../core/attention.ts";
import type { Axis, Header } from "../core/document.ts";
import { Later } from "../core/later.ts";
import { forPointer } from "../core/touch.ts";
import type { Pen } from "../pen/pen.ts";
import type { HeadMatrices } from "./matrices.ts";
import type { Writing } from "./writing.ts";
import type { Template } from "../core/template.ts";
import type { Place } from "./arcs.ts";
import type { Hiding } from "./guesses.ts";
import type { Rows } from "./row_words.ts";

const HINT = "Point at a word to see what it looks at; a click keeps it.";
const UNKNOWN = "not in the vocabulary";
const SPOKEN = 64; // words
const MOST_ARCS = 12;
const MOST_MOVED = 64; // words: more would be too small to follow
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const LEAST_ARC = 0.01; // of a row: what is less has no arc
const LABELLED = 0.01; // of a row: what is less is not written below its word
/** by the number of tokens from which on it is used: the size of the words */
const SIZES: [number, string][] = [
  [0, "large"],
  [15, "middle"],
  [40, "small"],
  [120, "smallest"],
];

export interface StandingWord {
  /** its number among the rows; null in a second line, which has only columns */
  row: number | null;
  /** its number among the columns; null in a line that has only rows */
  column: number | null;
  text: string;
  box: DOMRect;
  /** CSS px */
  size: number;
  /** what it gets of the chosen word's attention, 0 to 1 */
  share: number;
}

interface Arc {
  path: string;
  weight: number;
}

export interface SentenceActs {
  /** a row is kept */
  pin: (row: number) => void;
  /** the whole matrix is asked for */
  open: (row: number) => void;
  /** added tokens are dimmed, or no longer */
  dim: (isDimmed: boolean) => void;
  /** a word is hidden from the model; null: the hidden one is shown again */
  hide: (row: number | null) => void;
}

export class Sentence {
  root: HTMLElement = element("section", { class: "sentence", "aria-label": "Sentence" });
  words: HTMLElement = element("div", {
    class: "words",
    role: "group",
    "aria-label": "Words: move with the up and down arrow keys",
  });
  arcs: HTMLElement = element("div", { class: "arcs", "aria-hidden": "true" });
  matrices: HeadMatrices | null = null;
  attention: Rows | null = null;
  /** the row that gives most to another word */
  telling = 0;
  /** of each word its row in words, in a text that is not long */
  said: string[] = [];
  pinned: number | null = null;
  hovered: number | null = null;
  isOpen = false;
  isDimmed = false;
  hiding: Hiding = {};
  /** what the page offers, and the text that the model reads */
  offered: Parameters<Writing["show"]> | null = null;
  writing: Later<Writing> = new Later(
    async () => new (await import("./writing.ts")).Writing(() => this.redraw()),
    () => this.redraw(),
  );
  /** how much of the arcs is drawn, those of the largest shares first */
  grown = 1;
  choose;
  /** the words as they were written last, by side and place */
  written = new Map<string, { look: string; word: Template }>();
  sizes: ResizeObserver = new ResizeObserver(() => this.place());
  later: FrameTask = perFrame(() => this.redraw());
  /** With the next frame: the words of a long text take long to lay out, and the frame does that anyway. */
  placing: FrameTask = perFrame(() => this.place());

  /** @param does what the user asks for */
  constructor(does: SentenceActs) {
    this.choose = does;
    this.words.addEventListener("pointerover", ({ target, pointerType }) => {
      if (pointerType === "mouse") this.point(rowAt(target));
    });
    this.words.addEventListener("pointerleave", () => this.point(null));
    this.words.addEventListener("focusin", ({ target }) => this.point(rowAt(target)));
    this.words.addEventListener("focusout", () => this.point(null));
    this.words.addEventListener("click", ({ target }) => {
      const row = rowAt(target);
      if (row !== null) this.choose.pin(row);
    });
    this.words.addEventListener("keydown", (event) => this.key(event));
    this.words.attnvizPicture = {
      name: "Sentence",
      ready: true,
      paint: (pen, { theme }) => this.paint(pen, theme),
    };
    this.sizes.observe(this.words);
  }

  redraw() {
    this.offer();
    this.draw();
    this.place();
  }

  /** Gives what writes on, once it is here, what the page offers. */
  offer() {
    if (this.offered) this.writing.value?.show(...this.offered);
  }

  /**
   * @param pinned the row that is kept; null: the one that looks at another word most
   * @param isDimmed whether the tokens that the tokenizer has added are dimmed
   * @param home what the page offers besides
   */
  show(matrices: HeadMatrices, pinned: number | null, isDimmed = false, home: Home | null = null) {
    if (home) this.offered = [home, matrices.document.header.query.text, matrices.document.header.model];
    this.offer();
    if (home?.writes) void this.writing.want();
    if (matrices !== this.matrices) {
      this.hovered = null; // another text may have fewer words
      this.written.clear();
      const { query, key } = matrices.document.header;
      const rows = (this.attention = matrices.attention);
      this.telling = tellingRow(rows, query, key);
      const isShort = query.labels.length <= SPOKEN;
      this.said = isShort ? query.labels.map((_, n) => saidOf(rows.row(n).weights, query, key, n)) : [];
    }
    this.matrices = matrices;
    [this.pinned, this.isDimmed, this.hiding] = [pinned, isDimmed, home ?? {}];
    this.draw();
    this.placing();
  }

  /** Draws some of the arcs. @param part of them, from 0 to 1 */
  grow(part: number) {
    const grown = Math.ceil(part * MOST_ARCS) / MOST_ARCS;
    if (grown === this.grown) return;
    this.grown = grown;
    this.drawArcs();
  }

  point(row: number | null) {
    if (row === this.hovered) return;
    this.hovered = row;
    this.later();
  }

  /** Lights what a word beside it names: a row by its arcs, a column by a frame. */
  name(target: Target | null) {
    if (!this.matrices) return;
    this.point(target?.row ?? null);
    for (const word of this.words.querySelectorAll<HTMLElement>(".line:not(.query) .word")) {
      const isNamed = target !== null && target.column !== null && word.dataset.token === String(target.column);
      word.toggleAttribute("data-named", isNamed);
    }
  }

  /** Shows nothing of a head: its numbers are not here, or are not to be seen. @param why as a sentence, or "" */
  clear(why = "") {
    [this.matrices, this.attention, this.hovered] = [null, null, null];
    this.written.clear();
    this.writing.value?.reset();
    this.later.cancel();
    this.placing.cancel();
    write(this.root, template("p", { class: "finding" }, why));
  }

  /** Up and down go from word to word, as left and right go from step to step. */
  key(event: KeyboardEvent) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = rowAt(event.target);
    if (!by || row === null || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.words.querySelector<HTMLElement>(`[data-row="${row + by}"]`)?.focus();
  }

  /** The row that is shown. */
  get row() {
    return this.hovered ?? this.pinned ?? this.telling;
  }

  draw() {
    const { matrices, attention, row } = this;
    if (!matrices || !attention) return;
    const { query, key } = matrices.document.header;
    if (row >= query.labels.length) return;
    const numbers = attention.row(row);
    const count = query.labels.length + (this.writing.value?.count ?? 0);
    const size = SIZES.findLast(([least]) => count >= least)?.[1] ?? "";
    this.words.dataset.size = size;
    this.words.classList.toggle("dimmed", this.isDimmed);
    const line = (axis: Axis, side: "query" | "key" | "both") =>
      template(
        "p",
        { key: side, class: `line ${side}`, dir: isRightToLeft(axis) ? "rtl" : "ltr" },
        ...axis.labels.map((_, n) => this.word(axis, n, { side, row, weights: numbers.weights })),
        ...(side === "both" ? (this.writing.value?.words() ?? []) : []),
      );
    const lines = key === query ? [line(query, "both")] : [line(query, "query"), line(key, "key")];
    write(this.words, this.arcs, ...lines);
    write(
      this.root,
      template("p", { class: "finding" }, ...findingOf(matrices, row, numbers)),
      template("p", { class: "hint" }, forPointer(HINT)),
      this.words,
      this.answer(matrices.document.header),
      template("div", { class: "asks" }, ...this.asks(numbers)),
      this.isOpen && !numbers.allHidden ? writtenOut(matrices, numbers, () => this.choose.open(row)) : null,
    );
  }

  /** Draws what depends on where the words stand. */
  place() {
    this.drawArcs();
    this.spaceShares();
  }

  /** Hides the shares that would stand in a larger one, and moves those inside that would stand out at the edge. */
  spaceShares() {
    const shares = [...this.words.querySelectorAll<HTMLElement>(".share")];
    shares.sort((a, b) => Number(b.dataset.share) - Number(a.dataset.share));
    const { left } = this.words.getBoundingClientRect();
    const kept: DOMRect[] = [];
    for (const label of shares) {
      if (label.style.translate) label.style.translate = "";
      const out = left - label.getBoundingClientRect().left;
      if (out > 0) label.style.translate = `calc(-50% + ${out}px)`;
      const box = label.getBoundingClientRect();
      const isFree = kept.every((one) => apart(one, box));
      label.style.visibility = isFree ? "" : "hidden";
      if (isFree) kept.push(box);
    }
  }

  /** A word as it looks now; the very same template where it looks as before: a long text has few that change. */
  word(axis: Axis, n: number, place: { side: "query" | "key" | "both"; row: number; weights: Float64Array }) {
    const { side, row, weights } = place;
    const shares = side === "query" ? "" : weights[n] >= LABELLED ? String(weights[n]) : weights[n].toFixed(2);
    const look = `${shares} ${n === row} ${n === this.pinned}`;
    const key = `${side} ${n}`;
    const known = this.written.get(key);
    if (known?.look === look) return known.word;
    const word = this.wordNow(axis, n, place);
    this.written.set(key, { look, word });
    return word;
  }

  wordNow(
    axis: Axis,
    n: number,
    { side, row, weights }: { side: "query" | "key" | "both"; row: number; weights: Float64Array },
  ) {
    const isKey = side !== "query";
    const isRow = side !== "key" && n === row;
    const classes = [
      "word",
      axis.places[n] ? "" : "added",
      isJoined(axis, n) ? "joined" : "",
      isRow ? "row" : "",
      axis.unknown[n] ? "unknown" : "",
    ].filter(Boolean);
    const ground = isKey ? weights[n].toFixed(2) : "";
    const label = isKey && weights[n] >= LABELLED ? share(weights[n]) : "";
    const parts = [
      template("bdi", {}, wordOf(axis, n)),
      label && template("span", { class: "share", dataset: { share: weights[n] } }, label),
    ];
    const style = isKey ? { "--share": ground } : {};
    const title = axis.unknown[n] ? `${axis.labels[n]}: ${UNKNOWN}` : undefined;
    const looks = { key: n, class: classes.join(" "), style, title, dataset: { token: n } };
    if (side === "key") return template("span", looks, ...parts);
    const { pinned } = this;
    return template(
      "button",
      {
        ...{ ...looks, type: "button", dataset: { token: n, row: n }, tabIndex: n === row ? 0 : -1 },
        "aria-pressed": String(n === pinned),
        "aria-label": this.said[n] ?? (isRow ? saidOf(weights, axis, this.keys, n) : wordOf(axis, n)),
      },
      ...parts,
    );
  }

  get keys() {
    return (this.matrices as HeadMatrices).document.header.key;
  }

  /** What the tokens get that the tokenizer has added, and a switch that dims them. */
  added(weights: Float64Array) {
    const { key } = (this.matrices as HeadMatrices).document.header;
    const places = key.places.flatMap((place, n) => (place ? [] : [n]));
    if (!places.length) return null;
    const names = [...new Set(places.map((n) => key.labels[n]))];
    const sum = places.reduce((all, n) => all + weights[n], 0);
    const said = names.length > 1 ? "which stand for no word, get" : "which stands for no word, gets";
    return template(
      "p",
      { class: "of-added" },
      `${listOf(names)}, ${said} ${share(sum)}. `,
      template(
        "button",
        { type: "button", "aria-pressed": String(this.isDimmed), onclick: () => this.choose.dim(!this.isDimmed) },
        names.length > 1 ? "Dim them" : "Dim it",
      ),
    );
  }

  /** What the model expects: of the last character that it has written, else of the row. */
  answer(header: Header) {
    const { query } = header;
    if (this.writing.value?.count) return this.writing.value.line(wordOf(query, query.labels.length - 1));
    return guessesOf(header, this.row, this.hiding);
  }

  /** What can be asked for below the words. */
  asks(numbers: AttentionRow) {
    const { header } = (this.matrices as HeadMatrices).document;
    const hiding = hidingOf(header, this.pinned, this.hiding, this.choose.hide);
    return [this.question(numbers), this.writing.value?.button(), hiding, this.added(numbers.weights)];
  }

  question({ weights, allHidden }: AttentionRow) {
    const text = this.isOpen ? "Close the arithmetic" : `How is ${share(weights[largest(weights)])} computed?`;
    const onclick = () => {
      this.isOpen = !this.isOpen;
      this.draw();
      this.place();
      this.root.querySelector(".arithmetic")?.scrollIntoView({ block: "nearest" });
    };
    const looks = { type: "button", class: "question", "aria-expanded": String(this.isOpen), hidden: allHidden };
    return template("p", { hidden: allHidden }, template("button", { ...looks, onclick }, text));
  }

  // ---- arcs

  drawArcs() {
    const { clientWidth, clientHeight } = this.words;
    if (!this.matrices || !clientWidth) return;
    const paths = this.paths().map(({ path, weight }, n) =>
      template("path", { key: n, d: path, style: { "stroke-width": `${widthOf(weight)}px`, opacity: inkOf(weight) } }),
    );
    const viewBox = `0 0 ${clientWidth} ${clientHeight}`;
    write(this.arcs, template("svg", { viewBox, width: clientWidth, height: clientHeight }, ...paths));
  }

  /** The arcs of the row, the faintest first. */
  paths(): Arc[] {
    const { weights } = (this.attention as Rows).row(this.row);
    const { key, query } = (this.matrices as HeadMatrices).document.header;
    const crosses = key !== query;
    const from = this.standingAt("query", this.row);
    const order = Array.from(weights.keys()).filter(
      (k) => weights[k] >= LEAST_ARC && !(this.isDimmed && !key.places[k]),
    );
    order.sort((a, b) => weights[a] - weights[b]);
    const most = order.slice(-MOST_ARCS);
    return most.slice(most.length - Math.ceil(this.grown * most.length)).flatMap((k) => {
      const to = this.standingAt("key", k);
      if (!from || !to) return [];
      const path = crosses ? downward(from, to) : k === this.row ? loop(from) : this.within(from, to);
      return [{ path, weight: weights[k] }];
    });
  }

  /** From a word to another of the same text: over their line, or from the foot of the upper one to the lower one. */
  within(from: Place, to: Place) {
    if (from.bottom <= to.top) return downward(from, to);
    if (to.bottom <= from.top) return downward(to, from);
    const { paddingTop } = getComputedStyle(this.words);
    const { rowGap } = getComputedStyle(this.words.querySelector(".line") as HTMLElement);
    const isFirst = from.top < Number.parseFloat(paddingTop) + (from.bottom - from.top);
    return arch(from, to, 0.9 * Number.parseFloat(isFirst ? paddingTop : rowGap));
  }

  /** Where a word stands inside of `words`. */
  standingAt(side: "query" | "key", n: number): Place | null {
    const line = this.words.querySelector(`.line.${side}`) ?? this.words.querySelector(".line.both");
    const word = line?.querySelector(`[data-token="${n}"]`);
    if (!word) return null;
    const [text, label] = [...word.children].map((part) => part.getBoundingClientRect());
    const around = this.words.getBoundingClientRect();
    return {
      x: text.x + text.width / 2 - around.x,
      top: text.y - around.y,
      bottom: text.bottom - around.y,
      foot: (label ?? text).bottom - around.y,
    };
  }

  /** Draws the words, their shares and the arcs for Export. */
  paint(pen: Pen, theme: Theme) {
    const around = this.words.getBoundingClientRect();
    const { fontFamily: family } = getComputedStyle(this.words);
    for (const word of this.words.querySelectorAll<HTMLElement>(".word")) {
      const [text, label] = word.children as unknown as [HTMLElement, HTMLElement | undefined];
      const opacity = Number(getComputedStyle(word).opacity);
      const box = text.getBoundingClientRect();
      const weight = Number(word.style.getPropertyValue("--share"));
      Object.assign(pen, { fillStyle: INK[theme].attention, globalAlpha: weight * GROUND * opacity });
      pen.fillRect(box.x - around.x, box.y - around.y, box.width, box.height);
      const isRow = word.classList.contains("row");
      for (const [part, ink] of [
        [text, isRow ? INK[theme].query : INK[theme].text],
        [label, INK[theme].attention],
      ] as const) {
        if (!part?.textContent) continue;
        const { fontSize, fontWeight } = getComputedStyle(part);
        const place = part.getBoundingClientRect();
        const font = `${Number(fontWeight) >= 600 ? "600 " : ""}${fontSize} ${family}`;
        Object.assign(pen, { font, fillStyle: ink, globalAlpha: opacity, textAlign: "center", textBaseline: "middle" });
        const [x, y] = [place.x + place.width / 2 - around.x, place.y + place.height / 2 - around.y];
        if (part.style.visibility !== "hidden") pen.fillText(part.textContent, x, y);
      }
    }
    for (const { path, weight } of this.paths()) {
      const [x, y, ...to] = path.match(/-?[\d.]+/g)?.map(Number) ?? [];
      Object.assign(pen, { strokeStyle: INK[theme].attention, lineWidth: widthOf(weight), globalAlpha: inkOf(weight) });
      pen.beginPath();
      pen.moveTo(x, y);
      pen.bezierCurveTo(...(to as [number, number, number, number, number, number]));
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  destroy() {
    this.clear();
    this.sizes.disconnect();
  }
}

const GROUND = 0.3; // the opacity of the ground of a word that gets all; sentence.css has the same

/** The words of a sentence where they stand in the window; none where nothing is to move. */
export function standing(words: HTMLElement): StandingWord[] {
  const all = [...words.querySelectorAll<HTMLElement>(".word")];
  if (STILL.matches || all.length > MOST_MOVED || !words.checkVisibility()) return [];
  return all.map((word) => {
    const [text] = word.children as unknown as HTMLElement[];
    const n = Number(word.dataset.token);
    const line = word.parentElement?.classList;
    return {
      row: line?.contains("key") ? null : n,
      column: line?.contains("query") ? null : n,
      text: text.textContent ?? "",
      box: text.getBoundingClientRect(),
      size: Number.parseFloat(getComputedStyle(text).fontSize),
      share: Number(word.style.getPropertyValue("--share")),
    };
  });
}

const widthOf = (weight: number) => Number((1 + 6 * weight).toFixed(2));
const inkOf = (weight: number) => Number((0.25 + 0.65 * weight).toFixed(2));

const apart = (a: DOMRect, b: DOMRect) =>
  a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;

function rowAt(target: EventTarget | null) {
  const word = target instanceof Element ? target.closest<HTMLElement>("[data-row]") : null;
  return word ? Number(word.dataset.row) : null;
}
