// What the key-value cache saves: tokens that run through the layers, multiplications and measured time, as they grow.

import { element } from "../core/dom.ts";
import { whole } from "../core/format.ts";
import { span, template } from "../core/template.ts";
import { visibility } from "../training/answer.ts";
import { Curves } from "../training/curves.ts";
import { counted, seconds } from "./words.ts";
import type { Child } from "../core/template.ts";
import type { Draws } from "./draws.ts";

const ABOUT =
  "Each new character needs the keys and values of all before it. With a cache they are kept, and only the new " +
  "character runs through the layers; without one, all of them run again. When the context is full, it goes on with " +
  "its last half, whose positions are new: then these are computed once more in both cases.";
/** what is summed up, under its name, and how it is written */
const SUMS: [string, string, (x: number) => string][] = [
  ["tokens run through the layers", "computed", whole],
  ["multiplications (counted)", "multiplications", counted],
  ["processor time (measured here)", "seconds", seconds],
];

export class CachePanel {
  room = element("div", { class: "chart-room" });
  curves: Curves;

  constructor(onChoose: (n: number) => void) {
    this.curves = new Curves(this.room, "cache", (step) => onChoose(Math.max(0, Math.round(step) - 1)));
  }

  /**
   * @param other null until it has come
   * @param n the chosen draw: up to it all is counted
   */
  parts({ cached, model }: GenerationHeader, draws: Draws, other: Arrays | null, n: number): Child[] {
    const isSame = other?.ids.data.every((id, at) => id === draws.ids[at]);
    const said = !model.has_cache
      ? "This model has no attention, so it has no keys and values to keep."
      : !other
        ? `The same text is being generated ${cached ? "without" : "with"} the cache …`
        : isSame
          ? "With and without: the same text, character by character."
          : "The texts differ.";
    const both = model.has_cache && other ? (cached ? [other, draws.arrays] : [draws.arrays, other]) : null;
    const at = Math.min(n, (other?.ids.data.length ?? 0) - 1);
    if (both) this.drawCurves(both, at);
    return [
      template("h2", {}, "What the key-value cache saves"),
      template(
        "div",
        { class: "cost" },
        template(
          "div",
          {},
          template("p", { class: "said", dataset: { same: both ? isSame : undefined } }, said),
          template("div", { class: "table" }, template("table", { hidden: !other }, ...(both ? table(both, at) : []))),
          template("p", {}, ABOUT),
        ),
        template(
          "div",
          { class: "curve", style: visibility(both !== null) },
          template("h3", {}, "Tokens run through the layers"),
          template(
            "ul",
            { class: "legend" },
            template("li", {}, span("swatch without"), " without a cache"),
            template("li", {}, span("swatch with"), " with a cache"),
          ),
          this.room,
        ),
      ),
    ];
  }

  drawCurves([without, with_]: Arrays[], n: number) {
    const count = Math.min(without.ids.data.length, with_.ids.data.length);
    const steps = Float32Array.from({ length: count }, (_, at) => at + 1);
    const line = (of: Arrays, name: string, look: string) => ({
      ...{ steps, values: Float32Array.from(running(of.computed.data).slice(0, count)) },
      ...{ name, look, isOther: false },
    });
    const lines = [line(without, "without a cache", "without"), line(with_, "with a cache", "with")];
    const unit = (y: number) => whole(Math.round(y));
    const alt = `Tokens run through the layers, over ${count} characters`;
    this.curves.update({ lines, high: count, ceiling: null, unit, alt }, n + 1);
  }

  destroy() {
    this.curves.destroy();
  }
}

/** The sums up to the chosen character, without and with the cache. */
function table(both: Arrays[], n: number) {
  const heads = [`up to character ${n + 1}`, "without", "with", "saves"].map((name) => template("th", {}, name));
  const rows = SUMS.map(([title, name, write]) => {
    const [a, b] = both.map((of) => running(of[name].data)[n]);
    const cells = [a, b].map((value) => template("td", { dataset: { value } }, write(value)));
    const times = template("td", { class: "times" }, `${(a / b).toFixed(1)} ×`);
    return template("tr", { dataset: { name } }, template("th", { scope: "row" }, title), ...cells, times);
  });
  return [template("thead", {}, template("tr", {}, ...heads)), template("tbody", {}, ...rows)];
}

/** The running sum. */
function running(values: Numbers) {
  let sum = 0;
  return Array.from(values, (value) => (sum += value));
}
