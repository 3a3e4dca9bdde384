// How the page Train is laid out: what it is about, what starts and paces a training, the curves beside the heads.

import { percent, together, whole } from "../core/format.ts";
import { forPointer } from "../core/touch.ts";
import { span, template, write } from "../core/template.ts";
import { answers, visibility } from "./answer.ts";
import { Charts } from "./charts.ts";
import { HeadsView } from "./heads_view.ts";
import { transport } from "./transport.ts";
import { isLive, placeName, stateText } from "./words.ts";
import type { Child } from "../core/template.ts";
import type { Store } from "../core/store.ts";
import type { Known } from "./charts.ts";
import type { HeadsActs, HeadsShown } from "./heads_view.ts";
import type { Scrubber } from "./transport.ts";

interface Acts extends HeadsActs {
  show: (run: string) => void;
}
export interface Shown extends HeadsShown {
  header: TrainingHeader;
  known: Known[];
  shown: Known;
  values: TrainingValues;
  /** the held-out sequences of which `without` is the accuracy */
  tested: number;
  failed: string;
}

export class View extends HeadsView {
  on: Acts;
  charts: Charts;

  constructor(root: HTMLElement, store: Store<Shown>, scrubber: Scrubber, on: Acts) {
    const hint = "Point at a cell to read its weight; a click pins it.";
    super(store, scrubber, on, { hint, writes: false });
    this.on = on;
    this.small.dataset.item = "heads";
    this.charts = new Charts((step) => on.go(step));
    store.subscribe(
      ["header", "known", "shown", "run", "step", "place", "moment", "values", "without", "tested", "failed", "sizes"],
      (given) => write(root, ...this.page(given)),
    );
    store.subscribe(["header", "known", "shown", "sizes"], ({ header, known, shown }) => {
      this.charts.draw([...known.filter((one) => one !== shown), shown], header.task);
      this.opener.update(shown.run, header.is_page);
    });
    store.subscribe(["step"], ({ step }) => this.charts.mark(step));
  }

  page(given: Omit<Shown, "hovered" | "theme">): Child[] {
    const { header, known, shown, step, moment, failed } = given;
    const { task } = header;
    const newest = known.at(-1)?.run ?? shown.run;
    const trouble = (!["queued", "recorded"].includes(newest.state) && newest.message) || failed;
    const expected = span("expected", shown.run.is_control ? task.control : task.expected);
    return [
      template(
        "header",
        { class: "about" },
        template("p", {}, template("b", {}, task.title), ` ${task.explanation} `, expected),
      ),
      template("div", { class: "top", hidden: header.is_page }, this.transport(given, newest)),
      template("p", { class: "trouble", role: "alert", hidden: !trouble }, trouble),
      template(
        "div",
        { class: "main-part" },
        template("div", { class: "left" }, this.runs(known, shown), ...this.charts.sections(shown, task, step)),
        template(
          "div",
          { class: "right", style: visibility(moment !== null) }, // nothing of another training stays
          template(
            "div",
            { class: "all-heads" },
            template("h2", {}, "All heads"),
            this.small,
            template("p", { class: "without", dataset: { item: "without" } }, ...without(given)),
          ),
          template("div", { class: "chosen-head" }, this.title, this.guessLine.root, this.large, this.reading),
        ),
      ),
      template("div", { class: "bottom" }, this.scrubber.element, answers(task, moment)),
    ];
  }

  transport({ header, shown, values }: Pick<Shown, "header" | "shown" | "values">, newest: TrainingRun) {
    const live = isLive(newest);
    const can = live ? "stop" : newest.state === "stopped" && newest.can_continue ? "continue" : "train";
    const hasBegun = !["new", "recorded"].includes(newest.state);
    const state = stateText(shown.run.state === "recorded" && !live ? shown.run : newest);
    return transport({ can, isLive: live, hasBegun }, { state, slow: values.slow, why: header.task.control }, this.on);
  }

  /** The trainings to choose from, where there are several. */
  runs(known: Known[], shown: Known) {
    const buttons = known.map(({ run: { id, title } }) => {
      const look = { key: id, type: "button", "aria-pressed": String(id === shown.run.id) };
      return template("button", { ...look, onclick: () => this.on.show(id) }, title);
    });
    const about = { class: "runs", role: "group", "aria-label": "Trainings", hidden: known.length < 2 };
    return template("div", about, ...buttons);
  }

  destroy() {
    super.destroy();
    this.charts.destroy();
  }
}

/** What becomes of the accuracy without the head. */
function without({
  shown,
  place,
  without: each,
  tested,
  known,
}: Pick<Shown, "shown" | "place" | "without" | "tested" | "known">): Child[] {
  const at = headNumber(shown.run.kinds, place);
  if (!each || at === null) {
    return [known.some(({ run }) => isLive(run)) ? forPointer("Click one to see it large.") : " "];
  }
  const head = placeName(place, shown.run.kinds.length > 1);
  const all = together(percent(each[each.length - 1], 1));
  return [
    `Accuracy on ${whole(tested)} held-out sequences ${all}; without ${head} `,
    template("b", { class: "result", dataset: { value: each[at] } }, percent(each[at], 1)),
    ".",
  ];
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
