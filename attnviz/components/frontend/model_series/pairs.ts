// The table of pairs: how often each character follows each, as probabilities, with the arithmetic of a cell; beside it
// the table that the trained bigram has learned.

import { forPointer } from "../core/touch.ts";
import { fixed, number, percent, whole } from "../core/format.ts";
import { Latest } from "../core/latest.ts";
import { PairBoard } from "../board/pair_board.ts";
import { NOTHING } from "../core/pin.ts";
import { result, template, write } from "../core/template.ts";
import { afterSteps } from "../training/words.ts";
import type { Source } from "../core/arrays.ts";

const CALM = 200; // ms: keys run through many snapshots

const NARROW = "(max-width: 640px)"; // as in model_series.css: the tables stand one below the other

/** Says what a table of pairs knows of vowels. */
function vowelsSentence(counted: SeriesText["vowels"]): string {
  if (!counted) return "";
  const { followed, by_vowel, characters, vowels } = counted;
  const [after, anywhere] = [by_vowel / followed, vowels / characters];
  const [pairs, all, every] = [by_vowel, followed, characters].map(whole);
  return (
    `After a consonant a vowel (a, e, i, o, u) follows ${pairs} times of ${all}: ${percent(after, 1)}. Of all ` +
    `${every} characters ${percent(anywhere, 1)} are vowels, so a vowel is ${fixed(after / anywhere, 2)} times ` +
    "as frequent after a consonant as anywhere."
  );
}

type PairsProps = Pick<SeriesProps, "header" | "rows" | "row" | "step" | "values" | "theme">;

export class Pairs {
  room: HTMLElement;
  counts: Latest;
  learned: Latest;
  given: PairsProps | null = null;
  about = "";
  key = "";
  pairs: PairBoard;

  constructor(room: HTMLElement, source: Source, on: { pin: (at: Pair) => void }) {
    this.room = room;
    const redraw = () => this.given && !this.room.hidden && this.update(this.given);
    this.counts = new Latest(source, redraw, CALM);
    this.learned = new Latest(source, redraw, CALM);
    this.pairs = new PairBoard({ point: () => this.light(), pin: on.pin });
  }

  update(given: PairsProps) {
    this.given = given;
    const { text } = given.header;
    const counts = this.counts.of(text.pairs);
    const bigram = given.rows.find(({ stage }) => stage.name === "bigram")?.stage;
    const isTrained = bigram && bigram.run.id !== "0" && bigram.run.snapshots.length > 0;
    const at = bigram && (given.row.stage === bigram ? given.step : bigram.run.snapshots.at(-1));
    const learned = this.learned.of(isTrained ? `${bigram.run.digest}~b.${at}` : "");
    const count = text.labels.length;
    const which =
      text.shown.length === count
        ? `All ${count} characters`
        : `The ${text.shown.length} most frequent of ${count} characters`;
    const hint = isTrained ? "" : " Train the bigram to see the table that it learns beside it.";
    const failed = [this.counts.failed || this.learned.failed].filter(Boolean).map((why) => ` ${why}`);
    this.pairs.room.style.visibility = counts ? "" : "hidden"; // nothing of another text stays
    this.about =
      `Row: a character. Column: the character after it. ${which}, counted in the ` +
      `${whole(text.train)} characters to train on. Nothing is trained here: each count, which begins at 1, is ` +
      `divided by the sum of its row.${hint}${failed}`;
    this.write(); // the board needs its place
    this.pairs.board.setTheme(given.theme);
    if (counts) this.show(counts, learned, isTrained ? (at ?? 0) : null, given.theme);
    this.light();
  }

  show(counts: Arrays, learned: Arrays | null, at: number | null, theme: Theme) {
    const isNarrow = matchMedia(NARROW).matches;
    const key = `${this.counts.address} ${learned ? this.learned.address : ""} ${theme} ${isNarrow}`;
    if (!this.given || key === this.key) return;
    this.key = key;
    const { text } = this.given.header;
    const labels = text.shown.map((id) => text.labels[id]);
    const side = labels.length;
    const data = new Float32Array(side * side);
    for (let i = 0; i < side; i += 1) {
      for (let j = 0; j < side; j += 1) {
        data[i * side + j] = (counts.counts.data[i * side + j] + 1) / (counts.totals.data[i] + text.labels.length);
      }
    }
    const panel: (name: string, title: string, data: Float32Array) => Panel = (name, title, numbers) => ({
      ...{
        name,
        title,
        role: "attention",
        rows: "query",
        cols: "key",
        axes: ["this character", "next character"],
        data: numbers,
        shape: [side, side],
      },
      ...{ low: 0, high: 1, scale: "weights", numbered: true, bar: name === "counted" },
    });
    const panels = [panel("counted", "counted: probability of what follows", data)];
    if (learned) {
      const numbers = learned.probabilities.data as Float32Array;
      panels.push(panel("learned", `learned ${afterSteps(at ?? 0)}: softmax of its row`, numbers));
    }
    const order = panels.map((_, n) => n);
    this.pairs.room.classList.toggle("two", isNarrow && panels.length > 1);
    const grid = isNarrow ? order.map((n) => [n]) : [order];
    this.pairs.board.show({ panels, grid, labels: { query: labels, key: labels } });
  }

  light() {
    this.pairs.light("counted", this.given?.values.pin ?? NOTHING);
    this.write();
  }

  write() {
    const text = this.given?.header.text;
    if (!text) return;
    const { q, k } = this.pairs.hovered;
    const at = q !== null && k !== null ? this.pairs.hovered : (this.given?.values.pin ?? NOTHING);
    write(
      this.room,
      template("p", { class: "about", dataset: { item: "about" } }, this.about),
      this.pairs.room,
      template("p", { class: "reading vowels" }, vowelsSentence(text.vowels)),
      template("p", { class: "reading", dataset: { item: "arithmetic" } }, ...this.arithmetic(text, at)),
    );
  }

  /** The arithmetic of a cell. */
  arithmetic(text: SeriesText, { q, k }: Pair) {
    const counts = this.counts.arrays;
    const side = text.shown.length;
    if (!counts || q === null || k === null || q >= side || k >= side) {
      return [forPointer("Point at a cell to read its count and its probability; a click pins it.")];
    }
    const [count, total] = [counts.counts.data[q * side + k], counts.totals.data[q]];
    const divisor = total + text.labels.length;
    const p = (count + 1) / divisor;
    const [one, next] = [q, k].map((n) => text.labels[text.shown[n]]);
    const learned = this.learned.arrays?.probabilities.data[q * side + k];
    return [
      `“${next}” follows “${one}” ${whole(count)} times of ${whole(total)}: ` +
        `(${count} + 1) / (${total} + ${text.labels.length}) = `,
      result(p, number(p)),
      `, −log ${number(p)} = ${number(-Math.log(p))} nats. The 1 in each of ${text.labels.length} cells keeps ` +
        "pairs that never occurred possible.",
      learned === undefined ? "" : ` The trained bigram says ${number(learned)}.`,
    ];
  }

  destroy() {
    this.counts.destroy();
    this.learned.destroy();
    this.pairs.board.destroy();
  }
}
