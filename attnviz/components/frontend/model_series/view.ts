// How the part "Text" is laid out: what starts a training above, below it the models, or one of three views beside it.

import { element } from "../core/dom.ts";
import { NOTHING } from "../core/pin.ts";
import { template, write } from "../core/template.ts";
import { visibility } from "../training/answer.ts";
import { HeadsView } from "../training/heads_view.ts";
import { Chart } from "./chart.ts";
import { data } from "./data.ts";
import { Loss } from "./loss.ts";
import { Pairs } from "./pairs.ts";
import { stages } from "./stages.ts";
import { Sample } from "./sample.ts";
import { top } from "./top.ts";
import type { Source } from "../core/arrays.ts";
import type { Store } from "../core/store.ts";
import type { HeadsActs } from "../training/heads_view.ts";
import type { Scrubber } from "../training/transport.ts";

export interface Acts extends HeadsActs {
  choose: (stage: string) => void;
  open: (view: string) => void;
  cut: (cut: string) => void;
}

const ABOUT =
  "Each model learns to predict the next character of one text, and has one part more than the one above it.";

export class View extends HeadsView {
  on: Acts;
  chart: Chart;
  sample: Sample;
  pairs: Pairs;
  loss: Loss;
  given: Pick<SeriesShown, "view" | "values"> | null;

  constructor(root: HTMLElement, store: Store<SeriesShown>, scrubber: Scrubber, source: Source, on: Acts) {
    super(store, scrubber, on, { hint: "Point at a cell to read its weight.", writes: true });
    this.on = on;
    this.given = null;
    this.chart = new Chart((step) => on.go(step));
    this.sample = new Sample(element("div", { class: "sample", dataset: { item: "sample" } }), source);
    this.pairs = new Pairs(element("div", { class: "pairs" }), source, on);
    this.loss = new Loss(element("div", { class: "loss" }), source, on);
    store.subscribe(
      ["header", "rows", "row", "run", "view", "step", "moment", "values", "theme", "failed", "sizes"],
      (given) => {
        this.given = given;
        this.opener.update(given.run, false);
        scrubber.element.hidden = given.view === "data" || given.run.id === "0";
        write(root, ...this.page(given));
        if (given.view === "ladder") this.sample.update(given);
        if (given.view === "table") this.pairs.update(given);
        if (given.view === "loss") this.loss.update(given);
      },
    );
    store.subscribe(["header", "rows", "row", "sizes"], (given) => this.chart.draw(given));
    store.subscribe(["step"], ({ step }) => this.chart.curves.mark(step));
  }

  page(given: Omit<SeriesShown, "hovered" | "place" | "without">) {
    const { view } = given;
    this.pairs.room.hidden = view !== "table";
    this.loss.room.hidden = view !== "loss";
    return [
      template("header", { class: "about" }, ABOUT),
      ...top(given, view, this.on),
      template("div", { class: "models-parts", hidden: view !== "ladder" }, ...this.models(given)),
      this.pairs.room,
      this.loss.room,
      template("div", { class: "data", hidden: view !== "data" }, ...(view === "data" ? data(given, this.on.cut) : [])),
      template("div", { class: "bottom" }, this.scrubber.element),
    ];
  }

  models(given: Omit<SeriesShown, "hovered" | "place" | "without">) {
    const { run, row, moment } = given;
    const has = run.kinds.length > 0;
    const style = visibility(moment !== null); // nothing of another model stays
    const why = row.stage.name === "gru" ? "it keeps one state" : "it sees the last character alone";
    const none = `“${row.stage.title}” has no heads: ${why}.`;
    this.reading.hidden = !has;
    this.reading.style.visibility = moment ? "" : "hidden";
    return [
      template(
        "div",
        { class: "column" },
        template("div", { class: "stages" }, ...stages(given, this.on)),
        this.sample.room,
      ),
      template(
        "div",
        { class: "column" },
        template("div", { class: "charts" }, this.chart.section(row)),
        template(
          "div",
          { class: "head-parts" },
          this.title,
          this.guessLine.root,
          template("p", { class: "none", hidden: has }, !has && none),
          template("div", { class: "heads-shown", hidden: !has, style }, this.small, this.large),
          this.reading,
        ),
      ),
    ];
  }

  name(target: Target | null) {
    super.name(target);
    for (const one of [this.pairs, this.loss]) {
      one.pairs.name(target);
      one.light();
    }
  }

  lit(): LitNow {
    const pin = this.given?.values.pin ?? NOTHING;
    if (this.given?.view === "table") return this.pairs.pairs.lit("counted", pin);
    if (this.given?.view === "loss") return this.loss.pairs.lit("logits", pin);
    return super.lit();
  }

  destroy() {
    super.destroy();
    this.chart.destroy();
    this.sample.destroy();
    this.pairs.destroy();
    this.loss.destroy();
  }
}
