// The stages as rows of a table: what each adds, how large and fast it is, and its loss beside what was to be expected.

import { unseen } from "../core/dom.ts";
import { fixed, whole } from "../core/format.ts";
import { span, template } from "../core/template.ts";
import { valueAt } from "../training/numbers.ts";
import { speedText } from "../training/words.ts";

const HEADINGS = [
  ["", "Train"],
  ["Model", "Each has one part more than the one above."],
  ["Parameters", "Numbers that are learned"],
  ["Steps/s", "Steps of training a second, or how the training stands"],
  ["Loss", "On text that it was not trained on, in nats a character, at the shown step"],
  ["Expected", "On the built-in corpus, after this number of steps"],
  ["Others", "What others report on tiny Shakespeare after 5,000 steps"],
];

interface Acts {
  choose: (stage: string) => void;
  command: (name: string) => void;
}

const cell = (text?: string, properties = {}) => template("td", properties, text);
const numberCell = (text: string, value?: number | string) => cell(text, { class: "number", dataset: { value } });

export function stages({ header, rows, row, step, values }: Omit<SeriesProps, "failed" | "theme">, on: Acts) {
  const head = HEADINGS.map(([text, title]) => template("th", { scope: "col", title }, text || unseen(title)));
  const name = cell("Counted bigram", { title: "Pairs counted, nothing trained" });
  const { floor } = header.text;
  const cells = [cell(), name, cell(), numberCell("counted"), numberCell(fixed(floor, 2), floor), cell(), cell()];
  const at = values.snapshot === null ? Infinity : step;
  const body = rows.map((one, n) => rowOf(one, n, at, one === row, on));
  const table = template(
    "table",
    {},
    template("thead", {}, template("tr", {}, ...head)),
    template("tbody", {}, template("tr", { class: "floor", dataset: { item: "floor" } }, ...cells), ...body),
  );
  const { stage } = row;
  return [
    template("div", { class: "rows" }, table),
    template("p", { class: "adds", dataset: { item: "adds" } }, `${stage.title}. ${stage.adds} ${settings(stage)}`),
  ];
}

function rowOf({ stage, curves }: StageRow, n: number, step: number, isChosen: boolean, on: Acts) {
  const { run, name } = stage;
  const isRunning = run.state === "running";
  const isFirst = run.state === "new" || run.state === "recorded";
  const title = `${isFirst ? "Train" : "Train again"}: ${stage.title}`;
  const train = (event: Event) => {
    event.stopPropagation();
    on.command(`train:${name}`);
  };
  const button = { type: "button", class: "train", disabled: isRunning, title, "aria-label": title, onclick: train };
  const loss = valueAt(curves.held_out, step);
  const isPaced = run.speed && ["running", "done"].includes(run.state);
  return template(
    "tr",
    {
      ...{ key: name, class: isChosen ? "chosen" : "", "aria-selected": String(isChosen) },
      ...{ dataset: { stage: name, item: `stage-${name}`, state: stage.will_follow ? "next" : run.state } },
      onclick: () => on.choose(name),
    },
    template("td", {}, template("button", button, isRunning ? "●" : isFirst ? "▶" : "↻")),
    template("td", {}, template("button", { type: "button", class: "name" }, span(`mark stage${n}`), stage.title)),
    numberCell(whole(stage.parameters)),
    numberCell(isPaced ? speedText(run.speed ?? 0) : stateMark(stage)),
    numberCell(loss === null ? "–" : fixed(loss, 2), loss ?? ""),
    numberCell(expectedText(stage.expected, run.id === "0" ? Infinity : Math.min(step, run.step))),
    numberCell(stage.reported === null ? "–" : fixed(stage.reported, 2)),
  );
}

function stateMark({ run, will_follow: willFollow }: SeriesStage) {
  if (willFollow || run.state === "queued") return "next";
  if (run.state === "stopped") return run.step ? "stopped" : "–";
  return { recorded: "recorded", done: "done", diverged: "diverged", failed: "failed" }[String(run.state)] ?? "–";
}

/** "1.97 at 2,000": what is to be expected at the last listed step up to `step`. */
function expectedText(expected: [number, number][], step: number) {
  const [at, loss] = expected.findLast(([each]) => each <= step) ?? [];
  return at === undefined || loss === undefined ? "–" : `${fixed(loss, 2)} at ${whole(at)}`;
}

const settings = ({ run, batch, block, cut, rate, parameters, changed }: SeriesStage) =>
  `Here: ${whole(parameters)} parameters, ${whole(run.steps)} steps of ${batch} ` +
  `${cut === "blocks" ? "blocks of" : "sequences of at most"} ${block} characters, ` +
  `learning rate ${rate}.${changed && ` Changed: ${changed}.`}`;
