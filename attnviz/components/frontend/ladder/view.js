// How the part "Text" is laid out: what starts a training above, below it the ladder, or one of three views beside it.

import { element } from "../core/dom.js";
import { Heads } from "../training/heads.js";
import { Opener } from "../training/opener.js";
import { Scrubber } from "../training/transport.js";
import { cellText, pictureText, placeName, stateText } from "../training/words.js";
import { Chart } from "./chart.js";
import { Data } from "./data.js";
import { Loss } from "./loss.js";
import { Pairs } from "./pairs.js";
import { Rungs } from "./rungs.js";
import { Sample } from "./sample.js";

/**
 * @typedef {object} Acts
 * @property {(name: string) => void} command
 * @property {(step: number | null) => void} go
 * @property {(place: HeadPlace) => void} watch
 * @property {(pin: Pair) => void} pin
 * @property {(rung: string) => void} choose
 * @property {(view: string) => void} open
 * @property {() => void} redraw
 */

const VIEWS = { ladder: "The ladder", table: "Table of pairs", loss: "One loss", data: "The text as data" };
const LIVE = ["running", "queued"];
const ABOUT =
  "Models learn to predict the next character of the same text, each with one part more than the one above it. " +
  "Train one with its ▶, or all of them.";

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
    this.main = element("button", { type: "button", class: "main" });
    this.main.addEventListener("click", () => on.command(this.main.dataset.command ?? "all"));
    this.state = element("p", { class: "state", role: "status" });
    this.tabs = element("div", { class: "runs tabs", role: "group", "aria-label": "What is shown" });
    this.tabs.append(...Object.entries(VIEWS).map(([name, title]) => this.tab(name, title)));
    this.notice = element("p", { class: "trouble", role: "alert", hidden: true });
    const top = element("div", { class: "transport" }, this.main, this.tabs, this.state);
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
      { onWatch: on.watch, onPoint: (at) => this.point(at), onPin: on.pin },
    );
    this.views = {
      table: new Pairs(this.rooms.table, source, on),
      loss: new Loss(this.rooms.loss, source, on),
      data: new Data(this.rooms.data),
    };
    const bottom = element("div", { class: "bottom" });
    this.scrubber = new Scrubber(bottom, on.go);
    this.opener = new Opener(this.scrubber.element, on.command, true);
    root.append(element("header", { class: "about" }, ABOUT), top, this.notice, ...Object.values(this.rooms), bottom);
  }

  /** @param {string} name @param {string} title */
  tab(name, title) {
    const made = element("button", { type: "button", dataset: { view: name } }, title);
    made.addEventListener("click", () => this.on.open(name));
    return made;
  }

  headParts() {
    const shown = [this.title, this.none, this.shown, this.reading];
    return element("div", { class: "heads" }, ...shown);
  }

  /** @param {LadderGiven} given */
  update(given) {
    this.given = given;
    const { row, step, values } = given;
    this.showTop(given);
    const view = values.text_view in this.rooms ? values.text_view : "ladder";
    for (const [name, room] of Object.entries(this.rooms)) room.hidden = name !== view;
    for (const button of this.tabs.children) {
      button.setAttribute("aria-pressed", String(button instanceof HTMLElement && button.dataset.view === view));
    }
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
  showTop({ rows, failed }) {
    const byTime = rows.map(({ rung }) => rung).toSorted((a, b) => numberOf(b) - numberOf(a));
    const live = byTime.find(({ run }) => LIVE.includes(run.state)) ?? byTime[0];
    const { run } = live;
    const isLive = LIVE.includes(run.state);
    const goesOn = run.state === "stopped" && run.id !== "0" && run.step < run.steps;
    this.main.dataset.command = isLive ? "stop" : goesOn ? "continue" : "all";
    setText(this.main, isLive ? "■ Stop" : goesOn ? "▶ Continue" : "▶ Train the whole ladder");
    this.main.classList.toggle("stop", isLive);
    const recorded = run.state === "recorded" ? stateText(run) : "";
    const text = run.id === "0" ? "Nothing is trained yet." : recorded || `${live.title}: ${stateText(run)}`;
    setText(this.state, text);
    const trouble = ["diverged", "failed"].includes(run.state) ? run.message : failed;
    this.notice.hidden = !trouble || text.endsWith(trouble);
    setText(this.notice, trouble);
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
    this.heads.update({ kinds: run.kinds, moment, place, alt, pin: values.pin, theme, without: null });
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
    if (!isThere || at.q === null || at.k === null) setText(this.reading, "Point at a cell to read its weight.");
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
    this.main.click();
  }

  destroy() {
    this.chart.destroy();
    this.heads.destroy();
    this.scrubber.destroy();
    this.views.table.destroy();
    this.views.loss.destroy();
  }
}

/** The number of a rung's own training; 0 without one, also if a recorded one is shown. @param {LadderRung} rung */
export const numberOf = ({ run }) => (run.state === "recorded" ? 0 : Number(run.id));

/** @param {HTMLElement} of @param {string} text */
function setText(of, text) {
  if (of.textContent !== text) of.textContent = text;
}
