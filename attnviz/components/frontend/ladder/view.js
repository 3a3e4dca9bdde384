// How the part "Text" is laid out: what starts a training above, below it the ladder, or one of three views beside it.

import { element } from "../core/dom.js";
import { Heads } from "../training/heads.js";
import { Opener } from "../training/opener.js";
import { Scrubber } from "../training/transport.js";
import { COVERED, cellText, pictureText, placeName } from "../training/words.js";
import { Chart } from "./chart.js";
import { Data } from "./data.js";
import { Loss } from "./loss.js";
import { Pairs } from "./pairs.js";
import { Rungs } from "./rungs.js";
import { Sample } from "./sample.js";
import { Top } from "./top.js";

/**
 * @typedef {object} Acts
 * @property {(name: string) => void} command
 * @property {(ms: number) => void} slow
 * @property {(step: number | null) => void} go
 * @property {(place: HeadPlace) => void} watch
 * @property {(pin: Pair) => void} pin
 * @property {() => void} reveal
 * @property {(rung: string) => void} choose
 * @property {(view: string) => void} open
 * @property {(cut: string) => void} cut
 * @property {() => void} redraw
 */

const ABOUT =
  "Each model learns to predict the next character of one text, and has one part more than the one above it.";

export class View {
  /** @param {HTMLElement} root @param {import("../core/arrays.js").Source} source @param {Acts} on */
  constructor(root, source, on) {
    this.on = on;
    /** @type {LadderGiven | null} */
    this.given = null;
    /** @type {Pair} */
    this.hovered = { q: null, k: null };
    this.title = element("h2", { class: "head-name" });
    this.small = element("div", { class: "small" });
    this.large = element("div", { class: "large" });
    this.reading = element("p", { class: "reading" });
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
    this.heads = new Heads(
      { small: this.small, large: this.large },
      { onWatch: on.watch, onPoint: (at) => this.point(at), onPin: on.pin, onReveal: on.reveal },
    );
    this.views = {
      table: new Pairs(this.rooms.table, source, on),
      loss: new Loss(this.rooms.loss, source, on),
      data: new Data(this.rooms.data, on),
    };
    const bottom = element("div", { class: "bottom" });
    this.scrubber = new Scrubber(bottom, on.go);
    this.opener = new Opener(this.scrubber.element, on.command, true);
    root.append(about, this.top.element, this.top.notice, ...Object.values(this.rooms), bottom);
  }

  headParts() {
    const shown = [this.title, this.none, this.shown, this.reading];
    return element("div", { class: "head-parts" }, ...shown);
  }

  /** @param {LadderGiven} given */
  update(given) {
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

  /** @param {LadderGiven} given */
  showHeads({ row, place, moment, theme, values }) {
    const { run } = row.rung;
    const has = run.kinds.length > 0;
    const name = has ? `Attention of ${placeName(place, false)}` : "No attention";
    setText(this.title, name);
    this.none.hidden = has;
    this.shown.hidden = this.reading.hidden = !has;
    const why = row.rung.name === "gru" ? "it keeps one state" : "it sees the last character alone";
    setText(this.none, has ? "" : `“${row.rung.title}” has no heads: ${why}.`);
    if (!moment) return;
    const alt = pictureText(place, moment.step, false);
    const covered = values.predict ? values.pin.q : null;
    this.heads.update({ kinds: run.kinds, moment, place, alt, pin: values.pin, covered, theme, without: null });
    this.large.dataset.step = String(moment.step);
    this.read();
  }

  /** @param {Pair} at */
  point(at) {
    this.hovered = at;
    if (this.given) this.heads.light(this.given.values.pin);
    this.read();
  }

  /** Writes the weight of the cell that is pointed at or pinned. */
  read() {
    const at = this.hovered.q === null ? this.given?.values.pin : this.hovered;
    const { kind } = this.heads;
    const isThere = kind && at && at.q !== null && at.k !== null && at.q < kind.rows && at.k < kind.cols;
    const { covered } = this.heads;
    if (covered !== null && (!isThere || at.q === covered)) setText(this.reading, COVERED);
    else if (!isThere || at.q === null || at.k === null) setText(this.reading, "Point at a cell to read its weight.");
    else setText(this.reading, cellText(kind, at.q, at.k, this.heads.weightAt(at.q, at.k)));
  }

  /** @param {number} by */
  move(by) {
    this.scrubber.move(by);
  }

  play() {
    this.scrubber.toggle();
  }

  pause() {
    this.scrubber.pause();
  }

  pressMain() {
    this.top.main.click();
  }

  pressOne() {
    this.top.pacing.one.click();
  }

  destroy() {
    this.chart.destroy();
    this.heads.destroy();
    this.scrubber.destroy();
    this.views.table.destroy();
    this.views.loss.destroy();
  }
}

/** @param {HTMLElement} of @param {string} text */
function setText(of, text) {
  if (of.textContent !== text) of.textContent = text;
}
