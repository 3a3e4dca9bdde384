// The two charts of a training with their legends, which say each curve's number at the shown step.

import { element, isAsBefore, setText, span } from "../core/dom.ts";
import { fixed } from "../core/format.ts";
import { leastType } from "../core/type.ts";
import { Curves } from "./curves.ts";
import { bestOf, lastBefore, largestScores, valueAt } from "./numbers.ts";
import { percent } from "./words.ts";

const SHORT = new Intl.NumberFormat("en-US", { notation: "compact" }); // of a training that diverges

export type Known = { run: TrainingRun; curves: TrainingCurves };
/** of a legend */
export type Entry = { look: string; name: string; at: (step: number) => string };

export class Charts {
  shares;
  sharesChart: Curves;
  losses;
  lossChart: Curves;
  /** the numbers in the legends */
  numbers: { entry: Entry; number: HTMLElement }[];
  /** what the curves were last drawn from */
  drawn: unknown[];

  constructor(root: HTMLElement, onStep: (step: number) => void) {
    this.shares = section(root, "What it has learned");
    this.sharesChart = new Curves(this.shares.room, "shares", onStep);
    this.losses = section(root, "Loss, in nats");
    this.lossChart = new Curves(this.losses.room, "losses", onStep);
    this.numbers = [];
    this.drawn = [];
  }

  /**
   * Draws the curves where they are other ones, and marks the step.
   * @param known of each training, the shown one last
   */
  update(known: Known[], task: TrainingTask, step: number) {
    const drawn = [leastType(), task, ...known];
    if (!isAsBefore(drawn, this.drawn)) this.draw(known, task, step);
    this.drawn = drawn;
    this.mark(step);
  }

  draw(known: Known[], task: TrainingTask, step: number) {
    const high = Math.max(1, ...known.map(({ run }) => Math.max(run.steps, run.step)));
    const shown = known.at(-1);
    if (!shown) return;
    const shares: CurveLine[] = [];
    const losses: CurveLine[] = [];
    for (const { run, curves } of known) {
      const isOther = run !== shown.run;
      const of = isOther ? `, ${run.title}` : "";
      task.patterns.forEach(({ title }, p) => {
        shares.push({ ...largestScores(curves.scores[p]), name: `${title}${of}`, look: patternLook(p, task), isOther });
      });
      shares.push({ ...curves.accuracy, name: `accuracy${of}`, look: "accuracy", isOther });
      if (curves.trained.values.length) {
        shares.push({ ...curves.trained, name: `accuracy, training${of}`, look: "accuracy trained", isOther });
      }
      losses.push({ ...curves.loss, name: `training${of}`, look: "loss", isOther });
      losses.push({ ...curves.held_out, name: `held out${of}`, look: "held", isOther });
    }
    if (task.baseline !== undefined) {
      const [steps, values] = [Float32Array.of(0, high), Float32Array.of(task.baseline, task.baseline)];
      shares.push({ steps, values, name: "baseline", look: "baseline", isOther: false });
    }
    const entries = this.entriesOf(shown, task);
    this.numbers = [...list(this.shares.legend, entries.shares), ...list(this.losses.legend, entries.losses)];
    const unit = (y: number) => `${Math.round(y * 100)} %`;
    const spoken = (of: Entry[]) => of.map(({ name, at }) => `${name} ${at(Infinity)}`).join("; ");
    const alt = `Over ${high} steps: `;
    this.sharesChart.update({ lines: shares, high, ceiling: 1, unit, alt: alt + spoken(entries.shares) }, step);
    const plain = (y: number) => (y < 1000 ? fixed(y, this.lossChart.top < 1 ? 2 : 1) : SHORT.format(y));
    this.lossChart.update({ lines: losses, high, ceiling: null, unit: plain, alt: alt + spoken(entries.losses) }, step);
  }

  entriesOf({ curves }: Known, task: TrainingTask): { shares: Entry[]; losses: Entry[] } {
    const number = (of: Series) => (step: number) => {
      const value = valueAt(of, step);
      return value === null ? "–" : fixed(value, 3);
    };
    const shares = task.patterns.map(({ title }, p) => ({
      look: patternLook(p, task),
      name: title,
      at: (step: number) => {
        const scores = curves.scores[p];
        const best = bestOf(scores, lastBefore(scores.steps, step));
        return best ? fixed(best.score, 2) : "–";
      },
    }));
    const share = (of: Series) => (step: number) => {
      const value = valueAt(of, step);
      return value === null ? "–" : percent(value);
    };
    const accuracies = [{ look: "accuracy", name: "accuracy, held out", at: share(curves.accuracy) }];
    if (curves.trained.values.length) {
      accuracies.push({ look: "accuracy trained", name: "training", at: share(curves.trained) });
    }
    const { baseline } = task;
    if (baseline !== undefined) accuracies.push({ look: "baseline", name: "baseline", at: () => percent(baseline) });
    return {
      shares: [...accuracies, ...shares],
      losses: [
        { look: "held", name: "held out", at: number(curves.held_out) },
        { look: "loss", name: "training", at: number(curves.loss) },
      ],
    };
  }

  /** Moves the markers, and writes the numbers of the step. */
  mark(step: number) {
    this.sharesChart.mark(step);
    this.lossChart.mark(step);
    for (const { entry, number } of this.numbers) setText(number, entry.at(step));
  }

  destroy() {
    this.sharesChart.destroy();
    this.lossChart.destroy();
  }
}

/** The last pattern is what solves the task; those before it prepare it. */
const patternLook = (p: number, task: TrainingTask) => (p === task.patterns.length - 1 ? "pattern" : "pattern early");

/** Lists the entries of a legend; the numbers are to be written. */
function list(legend: HTMLElement, entries: Entry[]) {
  const numbers = entries.map((entry) => ({ entry, number: element("b", {}) }));
  legend.replaceChildren(
    ...numbers.map(({ entry, number }) => element("li", {}, span(`swatch ${entry.look}`), ` ${entry.name} `, number)),
  );
  return numbers;
}

function section(root: HTMLElement, title: string) {
  const room = element("div", { class: "chart-room" });
  const legend = element("ul", { class: "legend" });
  root.append(element("section", { class: "curve", "aria-label": title }, element("h2", {}, title), legend, room));
  return { room, legend };
}
