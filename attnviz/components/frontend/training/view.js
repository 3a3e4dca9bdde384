// How the page Train is laid out: what it is about, what starts and paces a training, the curves beside the heads.

import { element, setText, span } from "../core/dom.js";
import { Answer } from "./answer.js";
import { Charts } from "./charts.js";
import { HeadsView } from "./heads_view.js";
import { Transport } from "./transport.js";
import { otherStep, percent, pictureText, placeName, stateText } from "./words.js";

/** @typedef {import("./charts.js").Known} Known */
/**
 * @typedef {object} OwnActs
 * @property {(ms: number) => void} slow
 * @property {(run: string) => void} show
 */
/** @typedef {import("./heads_view.js").HeadsActs & OwnActs} Acts */
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

/** @extends {HeadsView<Given>} */
export class View extends HeadsView {
  /** @param {HTMLElement} root @param {Acts} on */
  constructor(root, on) {
    super(on, { hint: "Point at a cell to read its weight; a click pins it.", writes: false });
    this.on = on;
    this.about = element("header", { class: "about" });
    this.top = element("div", { class: "top" });
    this.transport = new Transport(this.top, { onCommand: on.command, onSlow: on.slow });
    this.notice = element("p", { class: "trouble", role: "alert", hidden: true });
    const left = element("div", { class: "left" });
    this.runs = element("div", { class: "runs", role: "group", "aria-label": "Trainings" });
    left.append(this.runs);
    this.charts = new Charts(left, (step) => on.go(step));
    const right = element("div", { class: "right" });
    this.right = right;
    this.without = element("p", { class: "without" });
    const beside = element("div", { class: "all-heads" }, element("h2", {}, "All heads"), this.small, this.without);
    const picture = element("div", { class: "chosen-head" }, this.title, this.large, this.reading);
    right.append(beside, picture);
    this.answer = new Answer(this.bottom);
    const main = element("div", { class: "main-part" }, left, right);
    root.append(this.about, this.top, this.notice, main, this.bottom);
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
    setText(this.title, `Attention of ${placeName(place, several)}${otherStep(moment, step)}`);
    // Nothing of another training stays.
    this.right.style.visibility = this.answer.section.style.visibility = moment ? "" : "hidden";
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

  buttons() {
    return { main: this.transport.main, one: this.transport.pacing.one };
  }

  destroy() {
    super.destroy();
    this.charts.destroy();
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
