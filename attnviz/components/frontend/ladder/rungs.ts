// The rungs as rows of a table: what each adds, how large and fast it is, and its loss beside what was to be expected.

import { element, setText, span } from "../core/dom.ts";
import { fixed, whole } from "../core/format.ts";
import { valueAt } from "../training/numbers.ts";

const HEADINGS = [
  ["", ""],
  ["Model", "Each has one part more than the one above."],
  ["Parameters", "Numbers that are learned"],
  ["Steps/s", "Steps of training a second, or how the training stands"],
  ["Loss", "On text that it was not trained on, in nats a character, at the shown step"],
  ["Expected", "On the built-in corpus, after so many steps"],
  ["Others", "What others report on tiny Shakespeare after 5,000 steps"],
];

export class Rungs {
  on;
  body: HTMLTableSectionElement;
  adds: HTMLParagraphElement;
  made: Map<string, { row: HTMLElement; train: HTMLButtonElement; cells: HTMLElement[] }>;
  floor?: HTMLTableCellElement;

  constructor(root: HTMLElement, on: { choose: (rung: string) => void; command: (name: string) => void }) {
    this.on = on;
    this.body = element("tbody");
    const head = element("tr", {}, ...HEADINGS.map(([text, title]) => element("th", { scope: "col", title }, text)));
    this.adds = element("p", { class: "adds" });
    root.append(
      element("div", { class: "rows" }, element("table", {}, element("thead", {}, head), this.body)),
      this.adds,
    );
    this.made = new Map();
  }

  update({ header, rows, row, step, values }: LadderGiven) {
    for (const [n, one] of rows.entries()) this.show(one, n, values.snapshot === null ? Infinity : step, one === row);
    if (!this.floor) {
      this.floor = element("td", { class: "number" });
      const name = element("td", { title: "Pairs counted, nothing trained" }, "Counted bigram");
      const how = element("td", { class: "number" }, "counted");
      const cells = [element("td"), name, element("td"), how, this.floor, element("td"), element("td")];
      this.body.prepend(element("tr", { class: "floor" }, ...cells));
    }
    this.floor.textContent = fixed(header.text.floor, 2);
    this.floor.dataset.value = String(header.text.floor);
    const { rung } = row;
    setText(this.adds, `${rung.title}. ${rung.adds} ${settings(rung)}`);
  }

  show({ rung, curves }: LadderRow, n: number, step: number, isChosen: boolean) {
    const made = this.made.get(rung.name) ?? this.make(rung, n);
    const { run } = rung;
    const isRunning = run.state === "running";
    made.row.classList.toggle("chosen", isChosen);
    made.row.setAttribute("aria-selected", String(isChosen));
    made.row.dataset.state = rung.will_follow ? "next" : run.state;
    const loss = valueAt(curves.held_out, step);
    const [parameters, speed, now, expected, others] = made.cells;
    setText(parameters, whole(rung.parameters));
    setText(speed, run.speed && ["running", "done"].includes(run.state) ? speedText(run.speed) : stateMark(rung));
    setText(now, loss === null ? "–" : fixed(loss, 2));
    now.dataset.value = loss === null ? "" : String(loss);
    setText(expected, expectedText(rung.expected, run.id === "0" ? Infinity : Math.min(step, run.step)));
    setText(others, rung.reported === null ? "–" : fixed(rung.reported, 2));
    const isFirst = run.state === "new" || run.state === "recorded";
    setText(made.train, isRunning ? "●" : isFirst ? "▶" : "↻");
    made.train.disabled = isRunning;
    made.train.title = isFirst ? `Train: ${rung.title}` : `Train again: ${rung.title}`;
    made.train.setAttribute("aria-label", made.train.title);
  }

  make(rung: LadderRung, n: number) {
    const train = element("button", { type: "button", class: "train" });
    train.addEventListener("click", (event) => {
      event.stopPropagation();
      this.on.command(`train:${rung.name}`);
    });
    const name = element("button", { type: "button", class: "name" }, span(`mark rung${n}`), rung.title);
    const cells = HEADINGS.slice(2).map(() => element("td", { class: "number" }));
    const row = element("tr", { dataset: { rung: rung.name } }, element("td", {}, train), element("td", {}, name));
    row.append(...cells);
    row.addEventListener("click", () => this.on.choose(rung.name));
    this.body.append(row);
    const made = { row, train, cells };
    this.made.set(rung.name, made);
    return made;
  }
}

function stateMark({ run, will_follow: willFollow }: LadderRung) {
  if (willFollow || run.state === "queued") return "next";
  if (run.state === "stopped") return run.step ? "stopped" : "–";
  return { recorded: "recorded", done: "done", diverged: "diverged", failed: "failed" }[String(run.state)] ?? "–";
}

/** "1.97 at 2,000": what is to be expected after at most so many steps. */
function expectedText(expected: [number, number][], step: number) {
  const [at, loss] = expected.findLast(([each]) => each <= step) ?? [];
  return at === undefined || loss === undefined ? "–" : `${fixed(loss, 2)} at ${whole(at)}`;
}

const settings = ({ run, batch, block, cut, rate, parameters, changed }: LadderRung) =>
  `Here: ${whole(parameters)} parameters, ${whole(run.steps)} steps of ${batch} ` +
  `${cut === "blocks" ? "blocks of" : "sequences of at most"} ${block} characters, ` +
  `learning rate ${rate}.${changed && ` Changed: ${changed}.`}`;

const speedText = (speed: number) => (speed < 10 ? fixed(speed, 1) : whole(Math.round(speed)));
