// The two charts of a training with their legends, which say each curve's number at the shown step.

import { element } from "../core/dom.ts";
import { fixed, percent, whole } from "../core/format.ts";
import { span, template } from "../core/template.ts";
import { Curves } from "./curves.ts";
import { bestOf, lastBefore, largestScores, valueAt } from "./numbers.ts";

const SHORT = new Intl.NumberFormat("en-US", { notation: "compact" }); // of a training that diverges

export type Known = { run: TrainingRun; curves: TrainingCurves };
/** of a legend */
export type Entry = { look: string; name: string; item: string; at: (step: number) => string };

export class Charts {
  rooms: { shares: HTMLDivElement; losses: HTMLDivElement };
  sharesChart: Curves;
  lossChart: Curves;

  constructor(onStep: (step: number) => void) {
    const room = () => element("div", { class: "chart-room" });
    this.rooms = { shares: room(), losses: room() };
    this.sharesChart = new Curves(this.rooms.shares, "shares", onStep);
    this.lossChart = new Curves(this.rooms.losses, "losses", onStep);
  }

  /** @param known of each training, the shown one last */
  draw(known: Known[], task: TrainingTask) {
    const high = Math.max(1, ...known.map(({ run }) => Math.max(run.steps, run.step)));
    const shown = known.at(-1);
    if (!shown) return;
    const shares: CurveLine[] = [];
    const losses: CurveLine[] = [];
    for (const { run, curves } of known) {
      const isOther = run !== shown.run;
      const of = isOther ? `, ${run.title}` : "";
      const named = (item: string) => (isOther ? {} : { item });
      task.patterns.forEach(({ name, title }, p) => {
        const scores = largestScores(curves.scores[p]);
        shares.push({ ...scores, name: `${title}${of}`, look: patternLook(p, task), isOther, ...named(name) });
      });
      shares.push({ ...curves.accuracy, name: `accuracy${of}`, look: "accuracy", isOther, ...named("accuracy") });
      if (curves.trained.values.length) {
        const about = { name: `accuracy, training${of}`, look: "accuracy trained", isOther };
        shares.push({ ...curves.trained, ...about, ...named("accuracy_training") });
      }
      losses.push({ ...curves.loss, name: `training${of}`, look: "loss", isOther, ...named("loss_training") });
      losses.push({ ...curves.held_out, name: `held out${of}`, look: "held", isOther, ...named("loss") });
    }
    if (task.baseline !== undefined) {
      const [steps, values] = [Float32Array.of(0, high), Float32Array.of(task.baseline, task.baseline)];
      shares.push({ steps, values, name: "baseline", look: "baseline", isOther: false });
    }
    const entries = entriesOf(shown, task);
    const unit = (y: number) => `${Math.round(y * 100)} %`;
    const spoken = (of: Entry[]) => of.map(({ name, at }) => `${name} ${at(Infinity)}`).join("; ");
    const alt = `Over ${high} steps: `;
    this.sharesChart.update({ lines: shares, high, ceiling: 1, unit, alt: alt + spoken(entries.shares) });
    const plain = (y: number) => (y < 1000 ? fixed(y, this.lossChart.top < 1 ? 2 : 1) : SHORT.format(y));
    this.lossChart.update({ lines: losses, high, ceiling: null, unit: plain, alt: alt + spoken(entries.losses) });
  }

  mark(step: number) {
    this.sharesChart.mark(step);
    this.lossChart.mark(step);
  }

  /** The charts under their legends, which say the numbers of the step. */
  sections(shown: Known, task: TrainingTask, step: number) {
    const { shares, losses } = entriesOf(shown, task);
    const { steps } = shown.curves.accuracy;
    const last = steps[lastBefore(steps, step)] ?? step;
    const at = last === step ? "" : `at step ${whole(last)}`; // the last evaluation before it
    return [
      section(["What it has learned", at && `, ${at}`], "shares", shares, this.rooms.shares, step),
      section(["Loss, in nats", at && `; held out ${at}`], "losses", losses, this.rooms.losses, step),
    ];
  }

  destroy() {
    this.sharesChart.destroy();
    this.lossChart.destroy();
  }
}

/** The last pattern is what solves the task; those before it prepare it. */
const patternLook = (p: number, task: TrainingTask) => (p === task.patterns.length - 1 ? "pattern" : "pattern early");

function entriesOf({ curves }: Known, task: TrainingTask): { shares: Entry[]; losses: Entry[] } {
  const number = (of: Series) => (step: number) => {
    const value = valueAt(of, step);
    return value === null ? "–" : fixed(value, 3);
  };
  const shares = task.patterns.map(({ name, title }, p) => ({
    look: patternLook(p, task),
    item: name,
    name: title,
    at: (step: number) => {
      const scores = curves.scores[p];
      const best = bestOf(scores, lastBefore(scores.steps, step));
      return best ? fixed(best.score, 2) : "–";
    },
  }));
  const share = (of: Series) => (step: number) => {
    const value = valueAt(of, step);
    return value === null ? "–" : percent(value, 1);
  };
  const accuracies = [{ look: "accuracy", name: "accuracy, held out", item: "accuracy", at: share(curves.accuracy) }];
  if (curves.trained.values.length) {
    accuracies.push({
      ...{ look: "accuracy trained", name: "training", item: "accuracy_training" },
      at: share(curves.trained),
    });
  }
  const { baseline } = task;
  if (baseline !== undefined) {
    accuracies.push({ look: "baseline", name: "baseline", item: "baseline", at: () => percent(baseline, 1) });
  }
  return {
    shares: [...accuracies, ...shares],
    losses: [
      { look: "held", name: "held out", item: "loss", at: number(curves.held_out) },
      { look: "loss", name: "training", item: "loss_training", at: number(curves.loss) },
    ],
  };
}

/** @param heading what it shows, and the step of its numbers where they are of another one than is shown */
function section(heading: [string, string], item: string, entries: Entry[], room: HTMLElement, step: number) {
  const title = heading.join("");
  const legend = entries.map(({ look, name, item: ofEntry, at }) =>
    template("li", { dataset: { item: ofEntry } }, span(`swatch ${look}`), ` ${name} `, template("b", {}, at(step))),
  );
  // A heading that names another step is shown where a scene hides those of curves: the numbers below are of that step.
  const parts = [
    template("h2", { class: heading[1] && "dated" }, title),
    template("ul", { class: "legend" }, ...legend),
    room,
  ];
  return template("section", { class: "curve", "aria-label": title, dataset: { item: `curves ${item}` } }, ...parts);
}
