// What a model writes after the text, one character after another, each with its share among the model's guesses. Stop
// keeps what is written: then the page adds it to the text, and its attention is computed.

import { fetchArrays } from "../core/arrays.ts";
import { quoted, share } from "../core/format.ts";
import { span, template } from "../core/template.ts";
import { guessLine } from "./guesses.ts";

const EVERY = 120; // ms from one character to the next
const NAMED = 5; // guesses
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

type Written = Pick<Home, "source" | "writes" | "written">;

export class Writing {
  home: Written | null = null;
  draws: Arrays | null = null;
  /** how many characters are written */
  count = 0;
  isOn = false;
  failure = "";
  text = "";
  timer: number | undefined;
  draw;

  /** @param draw called when there is something new to show */
  constructor(draw: () => void) {
    this.draw = draw;
  }

  /** Takes what the page offers. @param text that the model reads: for another one nothing is written yet */
  show(home: Written, text: string) {
    if (text !== this.text) this.reset();
    [this.home, this.text] = [home, text];
  }

  reset() {
    clearTimeout(this.timer);
    Object.assign(this, { draws: null, count: 0, isOn: false, failure: "" });
  }

  async begin() {
    const { writes, source } = this.home ?? {};
    if (!writes || !source) return;
    this.reset();
    this.isOn = true;
    this.draw();
    let draws = null;
    try {
      draws = await fetchArrays(writes.digest, source);
    } catch (error) {
      if (writes === this.home?.writes) this.failure = (error as Error).message.replace(/\.$/, "");
    }
    if (writes !== this.home?.writes || !this.isOn) return;
    this.draws = draws;
    if (draws) this.next();
    else this.end();
  }

  /** Writes one more character; all of them where nothing is to move. */
  next() {
    const all = this.draws?.ids.data.length ?? 0;
    this.count = STILL.matches ? all : this.count + 1;
    if (this.count >= all) {
      this.end();
      return;
    }
    this.draw();
    this.timer = setTimeout(() => this.next(), EVERY);
  }

  /** Ends the writing, and reports what is written. */
  end() {
    clearTimeout(this.timer);
    this.isOn = false;
    this.draw();
    const { writes, written } = this.home ?? {};
    const text = this.ids().map((id) => writes?.characters[id]);
    if (text.length) written?.(text.join(""), text.length);
  }

  /** Those of the characters that are written. */
  ids() {
    return Array.from(this.draws?.ids.data.slice(0, this.count) ?? []);
  }

  label(id: number) {
    return this.home?.writes?.labels[id] ?? "";
  }

  /** The characters that are written, to stand behind the text. */
  words() {
    return this.ids().map((id, n) => {
      const { labels, shares } = this.guesses(n);
      const own = shares[labels.indexOf(this.label(id))] ?? 0;
      const title = own ? share(own) : `less than ${share(shares.at(-1) ?? 0)}`;
      const looks = { key: `written ${n}`, class: "word joined written", title, style: { "--share": own.toFixed(2) } };
      return template("span", looks, template("bdi", {}, this.label(id)));
    });
  }

  /** The likeliest characters at a draw. */
  guesses(n: number) {
    const part = (name: string) => Array.from(this.draws?.[name].data.slice(n * NAMED, (n + 1) * NAMED) ?? []);
    return { labels: part("order").map((id) => this.label(id)), shares: part("probabilities") };
  }

  /** The guesses among which the last character was drawn. @param before the last token of the text */
  line(before: string) {
    const ids = this.ids();
    const [last, own] = [ids.at(-2), ids.at(-1)].map((id) => (id === undefined ? before : this.label(id)));
    const name = ["The model’s guesses after ", span("query", quoted(last)), ":"];
    return template("div", { class: "answer" }, guessLine("written", name, this.guesses(ids.length - 1), own));
  }

  /** The button that begins and ends it, and why it did not go on. */
  button() {
    if (!this.home?.writes) return null;
    const onclick = () => (this.isOn ? this.end() : this.begin());
    const help = "Each next character is drawn by its share; the same text is always written on in the same way.";
    const text = this.isOn ? "Stop" : "Write on";
    const button = template("button", { type: "button", class: "write", title: help, onclick }, text);
    return template("p", { class: "writing" }, button, this.failure && ` Nothing is written: ${this.failure}.`);
  }
}
