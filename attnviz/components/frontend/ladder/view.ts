// How the part "Text" is laid out: what starts a training above, below it the ladder, or one of three views beside it.

import { element, setText } from "../core/dom.ts";
import { HeadsView } from "../training/heads_view.ts";
import { otherStep, pictureText, placeName } from "../training/words.ts";
import { Chart } from "./chart.ts";
import { Data } from "./data.ts";
import { Loss } from "./loss.ts";
import { Pairs } from "./pairs.ts";
import { Rungs } from "./rungs.ts";
import { Sample } from "./sample.ts";
import { Top } from "./top.ts";
import type { Source } from "../core/arrays.ts";
import type { HeadsActs } from "../training/heads_view.ts";

export interface OwnActs {
  slow: (ms: number) => void;
  choose: (rung: string) => void;
  open: (view: string) => void;
  cut: (cut: string) => void;
  redraw: () => void;
}
export type Acts = HeadsActs & OwnActs;

const ABOUT =
  "Each model learns to predict the next character of one text, and has one part more than the one above it.";

export class View extends HeadsView<LadderGiven> {
  none: HTMLParagraphElement;
  shown: HTMLDivElement;
  top: Top;
  rooms;
  rungs: Rungs;
  chart: Chart;
  sample: Sample;
  views;

  constructor(root: HTMLElement, source: Source, on: Acts) {
    super(on, { hint: "Point at a cell to read its weight.", writes: true });
    this.none = element("p", { class: "none" });
    this.shown = element("div", { class: "heads-shown" }, this.small, this.large);
    const about = element("header", { class: "about" }, ABOUT);
    this.top = new Top(on);
    const rungs = element("div", { class: "rungs" });
    const charts = element("div", { class: "charts" });
    const sample = element("div", { class: "sample" });
    this.rooms = {
      ladder: element(
        "div",
        { class: "ladder-parts" },
        element("div", { class: "column" }, rungs, sample),
        element("div", { class: "column" }, charts, this.headParts()),
      ),
      table: element("div", { class: "pairs" }),
      loss: element("div", { class: "loss" }),
      data: element("div", { class: "data" }),
    };
    this.rungs = new Rungs(rungs, on);
    this.chart = new Chart(charts, (step) => on.go(step));
    this.sample = new Sample(sample, source);
    this.views = {
      table: new Pairs(this.rooms.table, source, on),
      loss: new Loss(this.rooms.loss, source, on),
      data: new Data(this.rooms.data, on),
    };
    root.append(about, this.top.element, this.top.notice, ...Object.values(this.rooms), this.bottom);
  }

  headParts() {
    const shown = [this.title, this.none, this.shown, this.reading];
    return element("div", { class: "head-parts" }, ...shown);
  }

  update(given: LadderGiven) {
    this.given = given;
    const { row, step, values } = given;
    const view = values.text_view in this.rooms ? values.text_view : "ladder";
    for (const [name, room] of Object.entries(this.rooms)) room.hidden = name !== view;
    this.top.update(given, view);
    this.scrubber.update(row.rung.run.snapshots, step);
    this.opener.update(row.rung.run, false);
    this.scrubber.element.hidden = view === "data" || row.rung.run.id === "0";
    if (view === "ladder") {
      this.rungs.update(given);
      this.chart.update(given);
      this.sample.update(given);
      this.showHeads(given);
    } else if (view === "table" || view === "loss" || view === "data") this.views[view].update(given);
  }

  showHeads({ row, place, step, moment, theme, values }: LadderGiven) {
    const { run } = row.rung;
    const has = run.kinds.length > 0;
    const name = has ? `Attention of ${placeName(place, false)}${otherStep(moment, step)}` : "No attention";
    setText(this.title, name);
    this.none.hidden = has;
    this.shown.hidden = this.reading.hidden = !has;
    // Nothing of another model stays.
    this.shown.style.visibility = this.reading.style.visibility = moment ? "" : "hidden";
    const why = row.rung.name === "gru" ? "it keeps one state" : "it sees the last character alone";
    setText(this.none, has ? "" : `“${row.rung.title}” has no heads: ${why}.`);
    if (!moment) return;
    const alt = pictureText(place, moment.step, false);
    const covered = values.predict ? values.pin.q : null;
    this.heads.update({ kinds: run.kinds, moment, place, alt, pin: values.pin, covered, theme, without: null });
    this.large.dataset.step = String(moment.step);
    this.read();
  }

  buttons() {
    return { main: this.top.main, one: this.top.pacing.one };
  }

  destroy() {
    super.destroy();
    this.chart.destroy();
    this.sample.destroy();
    this.views.table.destroy();
    this.views.loss.destroy();
  }
}
