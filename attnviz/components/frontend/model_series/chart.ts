// The held-out losses of all stages over one another, each with its name, above the floor of the counted bigram.

import { element } from "../core/dom.ts";
import { fixed } from "../core/format.ts";
import { template } from "../core/template.ts";
import { Curves } from "../training/curves.ts";
import { afterSteps } from "../training/words.ts";

const ABOVE = 1.5; // where the axis ends, as a multiple of the loss of a model that knows nothing: some diverge

export class Chart {
  room = element("div", { class: "chart-room" });
  curves: Curves;

  constructor(onStep: (step: number) => void) {
    this.curves = new Curves(this.room, "losses", onStep);
  }

  section(row: StageRow) {
    const faint = earlierText(row);
    return template(
      "section",
      { class: "curve", "aria-label": "Losses", dataset: { item: "curves" } },
      template("h2", {}, "Loss on text that they were not trained on, in nats a character"),
      template("p", { class: "faint", hidden: !faint }, faint),
      this.room,
    );
  }

  draw({ header, rows, row }: Pick<SeriesProps, "header" | "rows" | "row">) {
    const trained = rows.filter(({ stage }) => stage.run.id !== "0");
    const high = Math.max(100, ...trained.map(({ stage }) => stage.run.steps));
    const { floor, labels } = header.text;
    const lines: CurveLine[] = trained.map((one) => ({
      ...one.curves.held_out,
      name: one.stage.title,
      label: one.stage.title,
      look: `stage${rows.indexOf(one)}${one === row ? " chosen" : ""}`,
      item: `stage-${one.stage.name}`,
      isOther: false,
    }));
    const counted = "counted bigram";
    const floorLine = {
      steps: Float32Array.of(0, high),
      values: Float32Array.of(floor, floor),
      name: `${counted}: ${fixed(floor, 3)}`,
    };
    lines.push({ ...floorLine, label: `${counted} ${fixed(floor, 2)}`, look: "floor", item: "floor", isOther: false });
    for (const [n, { steps, values }] of row.curves.earlier.entries()) {
      const count = steps.filter((at) => at <= high).length;
      const curve = { steps: steps.slice(0, count), values: values.slice(0, count) };
      const name = `${row.stage.title} before: ${row.stage.earlier[n]}`;
      lines.unshift({ ...curve, name, look: `stage${rows.indexOf(row)} chosen`, isOther: true });
    }
    if (row.stage.run.id !== "0") {
      lines.unshift({ ...row.curves.loss, name: `${row.stage.title}, training`, look: "loss", isOther: false });
    }
    const ends = trained.map(({ stage, curves }) => `${stage.title} ${fixed(curves.held_out.values.at(-1) ?? NaN, 2)}`);
    const alt = `Over ${high} steps: ${[...ends, floorLine.name].join("; ")}`;
    const largest = Math.max(...lines.flatMap(({ values }) => [...values].filter(Number.isFinite)));
    const ceiling = Math.min(largest * 1.05, ABOVE * Math.log(labels.length));
    this.curves.update({ lines, high, ceiling, unit: (y) => fixed(y, 1), alt });
  }

  destroy() {
    this.curves.destroy();
  }
}

/** What the faint curves are; "" where there are none. */
function earlierText({ stage, curves }: StageRow) {
  const each = curves.earlier.map(({ steps, values }, n) => {
    return `${stage.earlier[n]} (${fixed(values.at(-1) ?? NaN, 2)} ${afterSteps(steps.at(-1) ?? 0)})`;
  });
  return each.length ? `Faint: “${stage.title}” trained before, ${each.join("; ")}` : "";
}
