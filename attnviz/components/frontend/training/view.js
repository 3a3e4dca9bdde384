// How the page Train is laid out: what it is about, what starts and paces a training, the curves beside the heads.

import { element, span } from "../core/dom.js";
import { Answer } from "./answer.js";
import { Charts } from "./charts.js";
import { Heads } from "./heads.js";
import { Opener } from "./opener.js";
import { Scrubber, Transport } from "./transport.js";
import { COVERED, cellText, percent, pictureText, placeName, stateText } from "./words.js";

/** @typedef {import("./charts.js").Known} Known */
/**
 * @typedef {object} Acts
 * @property {(name: string) => void} command
 * @property {(ms: number) => void} slow
 * @property {(step: number | null) => void} go
 * @property {(place: HeadPlace) => void} watch
 * @property {(pin: Pair) => void} pin
 * @property {(run: string) => void} show
 * @property {() => void} reveal
 */
/**
 * @typedef {object} Given
 * @property {TrainingHeader} header
 * @property {Known[]} known
 * @property {Known} shown
 * @property {number} step
 * @property {HeadPlace} place
 * @property {Theme} theme
 * @property {number[] | null} without
 * @property {TrainingValues} values
 * @property {TrainingMoment | null} moment
 * @property {string} failed
 */

const LIVE = ["running", "queued"];
const HINT = "Point at a cell to read its weight; a click pins it.";

export class View {
  /** @param {HTMLElement} root @param {Acts} on */
  constructor(root, on) {
    this.on = on;
    /** @type {Given | null} */
    this.given = null;
    /** @type {Pair} */
    this.hovered = { q: null, k: null };
    this.about = element("header", { class: "about" });
    this.top = element("div", { class: "top" });
    this.transport = new Transport(this.top, { onCommand: on.command, onSlow: on.slow });
    this.notice = element("p", { class: "trouble", role: "alert", hidden: true });
    const left = element("div", { class: "left" });
    this.runs = element("div", { class: "runs", role: "group", "aria-label": "Trainings" });
    left.append(this.runs);
    this.charts = new Charts(left, (step) => on.go(step));
    const right = element("div", { class: "right" });
    this.title = element("h2", { class: "head-name" });
    this.small = element("div", { class: "small" });
    this.without = element("p", { class: "without" });
    this.large = element("div", { class: "large" });
    this.reading = element("p", { class: "reading" });
    const beside = element("div", { class: "all-heads" }, element("h2", {}, "All heads"), this.small, this.without);
    const picture = element("div", { class: "chosen-head" }, this.title, this.large, this.reading);
    right.append(beside, picture);
    const bottom = element("div", { class: "bottom" });
    this.scrubber = new Scrubber(bottom, on.go);
    this.opener = new Opener(this.scrubber.element, on.command);
    this.heads = new Heads(
      { small: this.small, large: this.large },
      { onWatch: on.watch, onPoint: (at) => this.point(at), onPin: on.pin, onReveal: on.reveal },
    );
    this.answer = new Answer(bottom);
    root.append(this.about, this.top, this.notice, element("div", { class: "main-part" }, left, right), bottom);
  }

  /** @param {Given} given */
  update(given) {
    this.given = given;
    const { header, known, shown, step, place, theme, values, moment } = given;
    this.tellAbout(header.task, shown.run.is_control);
    this.showTransport(given);
    this.showRuns(known, shown);
    const others = known.filter((one) => one !== shown);
    this.charts.update([...others, shown], header.task, step);
    this.scrubber.update(shown.run.snapshots, step);
    this.opener.update(shown.run, header.is_page);
    this.top.hidden = header.is_page;
    const several = shown.run.kinds.length > 1;
    setText(this.title, `Attention of ${placeName(place, several)}`);
    if (moment) {
      const alt = pictureText(place, moment.step, several);
      const kinds = shown.run.kinds;
      const covered = values.predict ? values.pin.q : null;
      this.heads.update({ kinds, moment, place, alt, pin: values.pin, covered, theme, without: given.without });
      this.answer.update(header.task, moment);
      this.large.dataset.step = String(moment.step);
    }
    this.tellWithout(given);
    this.read();
  }

  /** @param {TrainingTask} task @param {boolean} isControl whether the control is shown, which fails */
  tellAbout({ title, explanation, expected, control }, isControl) {
    const last = isControl ? control : expected;
    if (this.about.dataset.key === title + last) return;
    this.about.dataset.key = title + last;
    const about = element("p", {}, element("b", {}, title), ` ${explanation} `, span("expected", last));
    this.about.replaceChildren(about);
  }

  /** @param {Given} given */
  showTransport({ header, known, shown, values, failed }) {
    const newest = known.at(-1)?.run ?? shown.run;
    const isLive = LIVE.includes(newest.state);
    const can = isLive ? "stop" : newest.state === "stopped" && newest.can_continue ? "continue" : "train";
    const hasBegun = !["new", "recorded"].includes(newest.state);
    this.transport.update(
      { can, isLive, hasBegun, canControl: !isLive },
      {
        state: stateText(shown.run.state === "recorded" && !isLive ? shown.run : newest),
        slow: values.slow,
        why: header.task.control,
      },
    );
    const trouble = (!["queued", "recorded"].includes(newest.state) && newest.message) || failed;
    this.notice.hidden = !trouble;
    setText(this.notice, trouble);
  }

  /** The trainings to choose from, where there are several. @param {Known[]} known @param {Known} shown */
  showRuns(known, shown) {
    this.runs.hidden = known.length < 2;
    const key = JSON.stringify([known.map(({ run }) => [run.id, run.title]), shown.run.id]);
    if (this.runs.dataset.key === key) return;
    this.runs.dataset.key = key;
    this.runs.replaceChildren(
      ...known.map(({ run }) => {
        const made = element("button", { type: "button", "aria-pressed": String(run.id === shown.run.id) }, run.title);
        made.addEventListener("click", () => this.on.show(run.id));
        return made;
      }),
    );
  }

  /** What becomes of the accuracy without the head. @param {Given} given */
  tellWithout({ shown, place, without, known }) {
    const at = headNumber(shown.run.kinds, place);
    if (!without || at === null) {
      const isLive = known.some(({ run }) => LIVE.includes(run.state));
      setText(this.without, isLive ? "Click one to see it large." : " ");
      return;
    }
    const all = without[without.length - 1];
    this.without.replaceChildren(
      `Accuracy ${percent(all)}; without ${placeName(place, shown.run.kinds.length > 1)} `,
      element("b", { class: "result", dataset: { value: String(without[at]) } }, percent(without[at])),
      ".",
    );
  }

  /** @param {Pair} at */
  point(at) {
    this.hovered = at;
    if (this.given) this.heads.light(this.given.values.pin);
    this.read();
  }

  /** Writes the weight of the cell that is pointed at or pinned. */
  read() {
    const { given } = this;
    const pin = given?.values.pin;
    const at = this.hovered.q !== null ? this.hovered : pin;
    const kind = this.heads.kind;
    const isThere = kind && at && at.q !== null && at.k !== null && at.q < kind.rows && at.k < kind.cols;
    if (!isThere || at.q === null || at.k === null) {
      setText(this.reading, this.heads.covered === null ? HINT : COVERED);
      return;
    }
    if (at.q === this.heads.covered) {
      delete this.reading.dataset.value;
      setText(this.reading, COVERED);
      return;
    }
    const weight = this.heads.weightAt(at.q, at.k);
    this.reading.dataset.value = String(weight);
    setText(this.reading, cellText(kind, at.q, at.k, weight));
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
    this.transport.main.click();
  }

  pressOne() {
    this.transport.pacing.one.click();
  }

  destroy() {
    this.charts.destroy();
    this.heads.destroy();
    this.scrubber.destroy();
  }
}

/**
 * The number of a head among all heads of a model; null if it has no such head.
 * @param {TrainingKind[]} kinds @param {HeadPlace} place
 */
export function headNumber(kinds, { kind, layer, head }) {
  let before = 0;
  for (const one of kinds) {
    if (one.kind === kind) return before + layer * one.heads + head;
    before += one.layers * one.heads;
  }
  return null;
}

/** @param {HTMLElement} of @param {string} text */
function setText(of, text) {
  if (of.textContent !== text) of.textContent = text;
}
