// The held-out losses of all rungs over one another, each with its name, above the floor of the counted bigram.

import { element } from "../core/dom.js";
import { fixed } from "../core/format.js";
import { Curves } from "../training/curves.js";

export class Chart {
  /** @param {HTMLElement} root @param {(step: number) => void} onStep */
  constructor(root, onStep) {
    this.room = element("div", { class: "chart-room" });
    const title = element("h2", {}, "Loss on text that they were not trained on, in nats a character");
    root.append(element("section", { class: "curve", "aria-label": "Losses" }, title, this.room));
    this.curves = new Curves(this.room, "losses", onStep);
  }

  /** @param {LadderGiven} given */
  update({ header, rows, row, step }) {
    const trained = rows.filter(({ rung }) => rung.run.id !== "0");
    const high = Math.max(100, ...trained.map(({ rung }) => rung.run.steps));
    const { floor } = header.text;
    /** @type {CurveLine[]} */
    const lines = trained.map((one) => ({
      ...one.curves.held_out,
      name: one.rung.title,
      label: one.rung.title,
      look: `rung${rows.indexOf(one)}${one === row ? " chosen" : ""}`,
      isOther: false,
    }));
    const counted = "counted bigram";
    const floorLine = {
      steps: Float32Array.of(0, high),
      values: Float32Array.of(floor, floor),
      name: `${counted}: ${fixed(floor, 3)}`,
    };
    lines.push({ ...floorLine, label: `${counted} ${fixed(floor, 2)}`, look: "floor", isOther: false });
    if (row.rung.run.id !== "0") {
      lines.unshift({ ...row.curves.loss, name: `${row.rung.title}, training`, look: "loss", isOther: false });
    }
    const ends = trained.map(({ rung, curves }) => `${rung.title} ${fixed(curves.held_out.values.at(-1) ?? NaN, 2)}`);
    const alt = `Over ${high} steps: ${[...ends, floorLine.name].join("; ")}`;
    this.curves.update({ lines, high, ceiling: null, unit: (y) => fixed(y, 1), alt }, step);
  }

  destroy() {
    this.curves.destroy();
  }
}
