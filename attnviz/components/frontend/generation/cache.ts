// What the key-value cache saves: tokens that run through the layers, multiplications and measured time, as they grow.

import { whole } from "../core/format.ts";
import { element, span } from "../core/dom.ts";
import { Curves } from "../training/curves.ts";
import { counted, seconds } from "./words.ts";
import type { Draws } from "./draws.ts";

const ABOUT =
  "Each new character needs the keys and values of all before it. With a cache they are kept, and only the new " +
  "character runs through the layers; without one, all of them run again. When the context is full, it goes on with " +
  "its last half, whose positions are new: then these are computed once more in both cases.";

export class CachePanel {
  said: HTMLParagraphElement;
  table: HTMLTableElement;
  curves: Curves;

  constructor(root: HTMLElement, onChoose: (n: number) => void) {
    this.said = element("p", { class: "said" });
    this.table = element("table", {});
    const left = element("div", {}, this.said, element("div", { class: "table" }, this.table), element("p", {}, ABOUT));
    const room = element("div", { class: "chart-room" });
    const legend = element(
      "ul",
      { class: "legend" },
      element("li", {}, span("swatch without"), " without a cache"),
      element("li", {}, span("swatch with"), " with a cache"),
    );
    const right = element("div", { class: "curve" }, element("h3", {}, "Tokens run through the layers"), legend, room);
    root.append(element("h2", {}, "What the key-value cache saves"), element("div", { class: "cost" }, left, right));
    this.curves = new Curves(room, "cache", (step) => onChoose(Math.max(0, Math.round(step) - 1)));
  }

  /**
   * @param other null until it has come
   * @param n the chosen draw: up to it all is counted
   */
  update({ cached, model }: GenerationHeader, draws: Draws, other: Arrays | null, n: number) {
    this.table.hidden = !other;
    if (!model.has_cache) {
      this.said.textContent = "This model has no attention, so it has no keys and values to keep.";
      return;
    }
    if (!other) {
      this.said.textContent = `The same text is being generated ${cached ? "without" : "with"} the cache …`;
      return;
    }
    const [with_, without] = cached ? [draws.arrays, other] : [other, draws.arrays];
    const shown = Math.min(n + 1, other.ids.data.length);
    const isSame = other.ids.data.every((id, at) => id === draws.ids[at]);
    this.said.textContent = isSame ? "With and without: the same text, character by character." : "The texts differ.";
    this.said.dataset.same = String(isSame);
    const sums = (of: Arrays, name: string) => running(of[name].data);
    const rows = [
      {
        title: "tokens run through the layers",
        name: "computed",
        write: whole,
      },
      { title: "multiplications (counted)", name: "multiplications", write: counted },
      { title: "processor time (measured here)", name: "seconds", write: seconds },
    ].map(({ title, name, write }) => {
      const [a, b] = [sums(without, name)[shown - 1], sums(with_, name)[shown - 1]];
      const cells = [a, b].map((x) => element("td", { dataset: { value: String(x) } }, write(x)));
      const times = element("td", { class: "times" }, `${(a / b).toFixed(1)} ×`);
      return element("tr", { dataset: { name } }, element("th", { scope: "row" }, title), ...cells, times);
    });
    const heads = [`up to character ${shown}`, "without", "with", "saves"].map((name) => element("th", {}, name));
    this.table.replaceChildren(element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    const steps = Float32Array.from(other.ids.data, (_, at) => at + 1);
    const line = (of: Arrays, name: string, look: string) => ({
      ...{ steps, values: Float32Array.from(sums(of, "computed").slice(0, steps.length)) },
      ...{ name, look, isOther: false },
    });
    const lines = [line(without, "without a cache", "without"), line(with_, "with a cache", "with")];
    const unit = (y: number) => whole(Math.round(y));
    const alt = `Tokens run through the layers, over ${steps.length} characters`;
    this.curves.update({ lines, high: steps.length, ceiling: null, unit, alt }, shown);
  }

  destroy() {
    this.curves.destroy();
  }
}

/** The running sum. */
function running(values: Numbers) {
  let sum = 0;
  return Array.from(values, (value) => (sum += value));
}
