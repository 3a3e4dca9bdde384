// How the page Train is laid out: what it is about, what starts and paces a training, the curves beside the heads.

import { element, setText, span } from "../core/dom.ts";
import { Answer } from "./answer.ts";
import { Charts } from "./charts.ts";
import { HeadsView } from "./heads_view.ts";
import { Transport } from "./transport.ts";
import { otherStep, percent, pictureText, placeName, stateText } from "./words.ts";
import type { Known } from "./charts.ts";
import type { HeadsActs } from "./heads_view.ts";

export interface OwnActs {
  slow: (ms: number) => void;
  show: (run: string) => void;
}
export type Acts = HeadsActs & OwnActs;
export interface Given {
  header: TrainingHeader;
  known: Known[];
  shown: Known;
  step: number;
  place: HeadPlace;
  theme: Theme;
  without: number[] | null;
  values: TrainingValues;
  moment: TrainingMoment | null;
  failed: string;
}

const LIVE = ["running", "queued"];

export class View extends HeadsView<Given> {
  on: Acts;
  about: HTMLElement;
  top: HTMLDivElement;
  transport: Transport;
  notice: HTMLParagraphElement;
  runs: HTMLDivElement;
  charts: Charts;
  right: HTMLDivElement;
  without: HTMLParagraphElement;
  answer: Answer;

  constructor(root: HTMLElement, on: Acts) {
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

  update(given: Given) {
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

  /** @param isControl whether the control is shown, which fails */
  tellAbout({ title, explanation, expected, control }: TrainingTask, isControl: boolean) {
    const last = isControl ? control : expected;
    if (this.about.dataset.key === title + last) return;
    this.about.dataset.key = title + last;
    const about = element("p", {}, element("b", {}, title), ` ${explanation} `, span("expected", last));
    this.about.replaceChildren(about);
  }

  showTransport({ header, known, shown, values, failed }: Given) {
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

  /** The trainings to choose from, where there are several. */
  showRuns(known: Known[], shown: Known) {
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

  /** What becomes of the accuracy without the head. */
  tellWithout({ shown, place, without, known }: Given) {
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

/** The number of a head among all heads of a model; null if it has no such head. */
export function headNumber(kinds: TrainingKind[], { kind, layer, head }: HeadPlace) {
  let before = 0;
  for (const one of kinds) {
    if (one.kind === kind) return before + layer * one.heads + head;
    before += one.layers * one.heads;
  }
  return null;
}
