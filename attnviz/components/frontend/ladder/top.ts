// What starts, stops and paces the trainings of the ladder, the choice of a view, and what is wrong, if anything is.

import { element, setText } from "../core/dom.ts";
import { Pacing } from "../training/transport.ts";
import { stateText } from "../training/words.ts";
import type { Acts } from "./view.ts";

const VIEWS = { ladder: "The ladder", table: "Table of pairs", loss: "One loss", data: "The text as data" };
const LIVE = ["running", "queued"];

export class Top {
  on;
  rung: string;
  main: HTMLButtonElement;
  pacing: Pacing;
  tabs: HTMLDivElement;
  state: HTMLParagraphElement;
  notice: HTMLParagraphElement;
  element: HTMLDivElement;

  constructor(on: Acts) {
    this.on = on;
    this.rung = "";
    this.main = element("button", { type: "button", class: "main" });
    this.main.addEventListener("click", () => on.command(this.main.dataset.command ?? "all"));
    this.pacing = new Pacing({ onStep: () => on.command(`step:${this.rung}`), onSlow: on.slow });
    this.tabs = element("div", { class: "runs tabs", role: "group", "aria-label": "What is shown" });
    this.tabs.append(...Object.entries(VIEWS).map(([name, title]) => this.tab(name, title)));
    this.state = element("p", { class: "state", role: "status" });
    this.notice = element("p", { class: "trouble", role: "alert", hidden: true });
    const { one, label } = this.pacing;
    this.element = element("div", { class: "transport" }, this.main, one, label, this.tabs, this.state);
  }

  tab(name: string, title: string) {
    const made = element("button", { type: "button", dataset: { view: name } }, title);
    made.addEventListener("click", () => this.on.open(name));
    return made;
  }

  update({ rows, row, values, failed }: LadderGiven, view: string) {
    for (const button of this.tabs.children) {
      button.setAttribute("aria-pressed", String(button instanceof HTMLElement && button.dataset.view === view));
    }
    const byTime = rows.map(({ rung }) => rung).toSorted((a, b) => numberOf(b) - numberOf(a));
    const live = byTime.find(({ run }) => LIVE.includes(run.state)) ?? byTime[0];
    const { run } = live;
    const isLive = LIVE.includes(run.state);
    const goesOn = run.state === "stopped" && run.can_continue;
    this.main.dataset.command = isLive ? "stop" : goesOn ? "continue" : "all";
    setText(this.main, isLive ? "■ Stop" : goesOn ? "▶ Continue" : "▶ Train all");
    this.main.title = isLive || goesOn ? "" : "Train all models, one after another";
    this.main.classList.toggle("stop", isLive);
    this.rung = row.rung.name;
    this.pacing.update(isLive, values.slow);
    this.pacing.one.title = `Make one step of training: ${row.rung.title}`;
    const recorded = run.state === "recorded" ? stateText(run) : "";
    const text =
      run.id === "0"
        ? "Nothing is trained yet: press ▶ beside a model, or train all."
        : recorded || `${live.title}: ${stateText(run)}`;
    setText(this.state, text);
    const trouble = troubleOf(live) || troubleOf(row.rung) || failed;
    this.notice.hidden = !trouble || text.endsWith(trouble);
    setText(this.notice, trouble);
  }
}

/** The number of a rung's own training; 0 without one, also if a recorded one is shown. */
export const numberOf = ({ run }: LadderRung) => (run.state === "recorded" ? 0 : Number(run.id));

/** What is wrong with a rung's training, in a sentence; "" if nothing is. */
const troubleOf = ({ run, title }: LadderRung) =>
  run.message && !["queued", "recorded"].includes(run.state) ? `${title}: ${run.message}` : "";
