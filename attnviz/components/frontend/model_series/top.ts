// What starts, stops and paces the trainings of the models, the choice of a view, and what is wrong, if anything is.

import { template } from "../core/template.ts";
import { pacing } from "../training/transport.ts";
import { isLive, stateText } from "../training/words.ts";
import type { Acts } from "./view.ts";

export const VIEWS = { ladder: "The models", table: "Table of pairs", loss: "One loss", data: "The text as data" };

type TopProps = Pick<SeriesProps, "rows" | "row" | "values" | "failed">;

/** @param view which is open */
export function top({ rows, row, values, failed }: TopProps, view: string, on: Acts) {
  const byTime = rows.map(({ stage }) => stage).toSorted((a, b) => numberOf(b) - numberOf(a));
  const newest = byTime.find(({ run }) => isLive(run)) ?? byTime[0];
  const { run } = newest;
  const live = isLive(run);
  const goesOn = run.state === "stopped" && run.can_continue;
  const command = live ? "stop" : goesOn ? "continue" : "all";
  const name = live ? "■ Stop" : goesOn ? "▶ Continue" : "▶ Train all";
  const title = live || goesOn ? "" : "Train all models, one after another";
  const look = { class: live ? "main stop" : "main", title, onclick: () => on.command(command) };
  const step = { step: () => on.command(`step:${row.stage.name}`), slow: on.slow };
  const tabs = Object.entries(VIEWS).map(([key, text]) => {
    const state = { "aria-pressed": String(key === view), onclick: () => on.open(key) };
    return template("button", { type: "button", dataset: { view: key }, ...state }, text);
  });
  const recorded = run.state === "recorded" ? stateText(run) : "";
  const said =
    run.id === "0"
      ? "Nothing is trained yet: press ▶ beside a model, or train all."
      : recorded || `${newest.title}: ${stateText(run)}`;
  const trouble = troubleOf(newest) || troubleOf(row.stage) || failed;
  return [
    template(
      "div",
      { class: "transport" },
      template("button", { type: "button", ...look }, name),
      ...pacing(live, values.slow, step, `Make one step of training: ${row.stage.title}`),
      template("div", { class: "runs tabs", role: "group", "aria-label": "What is shown" }, ...tabs),
      template("p", { class: "state", role: "status" }, said),
    ),
    template("p", { class: "trouble", role: "alert", hidden: !trouble || said.endsWith(trouble) }, trouble),
  ];
}

/** The number of a stage's own training; 0 without one, also if a recorded one is shown. */
export const numberOf = ({ run }: SeriesStage) => (run.state === "recorded" ? 0 : Number(run.id));

/** What is wrong with a stage's training, in a sentence; "" if nothing is. */
const troubleOf = ({ run, title }: SeriesStage) =>
  run.message && !["queued", "recorded"].includes(run.state) ? `${title}: ${run.message}` : "";
