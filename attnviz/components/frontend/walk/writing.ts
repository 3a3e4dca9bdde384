// What a model writes after the text, one token after another, each with its share among the model's guesses. Stop
// keeps what is written: then the page adds it to the text, and its attention is computed.

import { fetchFile } from "../core/arrays.ts";
import { percent, quoted } from "../core/format.ts";
import { span, template } from "../core/template.ts";
import { guessLine } from "./guesses.ts";

const EVERY = 120; // ms from one token to the next
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

type Writer = Pick<Home, "source" | "writes" | "written">;

export class Writing {
  home: Writer | null = null;
  tokens: WrittenToken[] | null = null;
  /** how many of them are written */
  count = 0;
  isOn = false;
  failure = "";
  /** why the model writes no more after those, where it may not go on */
  why = "";
  /** the text after which a model writes no more; the page has it only after a while */
  ended: { model: string; text: string; why: string } | null = null;
  text = "";
  model = "";
  timer: number | undefined;
  draw;

  /** @param draw called when there is something new to show */
  constructor(draw: () => void) {
    this.draw = draw;
  }

  /** Takes what the page offers. @param text that the model reads: of another text or model nothing is written yet */
  show(home: Writer, text: string, model = "") {
    if (text !== this.text || home.writes?.digest !== this.home?.writes?.digest) this.reset();
    [this.home, this.text, this.model] = [home, text, model];
  }

  reset() {
    clearTimeout(this.timer);
    Object.assign(this, { tokens: null, count: 0, isOn: false, failure: "", why: "" });
  }

  async begin() {
    const { writes, source } = this.home ?? {};
    if (!writes?.digest || !source) return;
    const isOffered = () => writes.digest === this.home?.writes?.digest;
    this.reset();
    this.isOn = true;
    this.draw();
    let made: Written | null = null;
    try {
      made = JSON.parse(new TextDecoder().decode(await fetchFile(writes.digest, source)));
    } catch (error) {
      if (isOffered()) this.failure = (error as Error).message.replace(/\.$/, "");
    }
    if (!isOffered() || !this.isOn) return;
    [this.tokens, this.why] = [made?.tokens ?? null, made?.end ?? ""];
    if (made?.tokens.length) this.next();
    else this.end();
  }

  /** Writes one more token; all of them where nothing is to move. */
  next() {
    const all = this.tokens?.length ?? 0;
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
    const { count, tokens, why, model } = this;
    if (why && count === tokens?.length) this.ended = { model, text: this.whole, why };
    this.draw();
    const text = this.whole.slice(this.text.length);
    if (text) this.home?.written?.(text, this.count);
  }

  /** The text with what is written. */
  get whole() {
    return [this.text, ...this.written().map(({ text }) => text)].join("");
  }

  /** Those of the tokens that are written. */
  written() {
    return this.tokens?.slice(0, this.count) ?? [];
  }

  /** The tokens that are written, to stand behind the text. */
  words() {
    return this.written().map(({ text, label, share: own }, n) => {
      const joined = /^\s\S/.test(text) ? "" : "joined ";
      const style = { "--share": own.toFixed(2) };
      const looks = { key: `written ${n}`, class: `word ${joined}written`, title: percent(own), style };
      return template("span", looks, template("bdi", {}, label));
    });
  }

  /** The guesses among which the last token was drawn. @param before the last token of the text */
  line(before: string) {
    const [own, last] = this.written().toReversed();
    const name = ["The model’s guesses after ", span("query", quoted(last?.label ?? before)), ":"];
    return template("div", { class: "answer" }, guessLine("written", name, own, own.label));
  }

  /** The button that begins and ends it, and why it did not go on; where the text is full or ends, that it does. */
  button() {
    if (!this.home?.writes) return null;
    const { full } = this.home.writes;
    if (full) return template("p", { class: "writing" }, full);
    const { ended, whole, model, isOn } = this;
    if (ended && !isOn && ended.text === whole && ended.model === model) {
      return template("p", { class: "writing" }, ended.why);
    }
    const onclick = () => (this.isOn ? this.end() : this.begin());
    const help = "Each next token is drawn by its share; the same text is always written on in the same way.";
    const text = this.isOn ? "Stop" : "Write on";
    const button = template("button", { type: "button", class: "write", title: help, onclick }, text);
    return template("p", { class: "writing" }, button, this.failure && ` Nothing is written: ${this.failure}.`);
  }
}
