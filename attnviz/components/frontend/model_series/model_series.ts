// Train, part "Text": models from a table of pairs to a GPT learn the same text, and what they do at each snapshot.

import { element } from "../core/dom.ts";
import { NOTHING } from "../core/pin.ts";
import { Trainings } from "../training/trainings.ts";
import { isLive, placeOf } from "../training/words.ts";
import { VIEWS, numberOf } from "./top.ts";
import { View } from "./view.ts";

const NAMES = Object.keys(VIEWS) as (keyof typeof VIEWS)[];

class ModelSeries extends Trainings<SeriesHeader, SeriesValues, SeriesShown> {
  rows: StageRow[] = [];
  view: View;

  constructor(root: HTMLElement, host: Host) {
    const section = element("section", { class: "training model-series", "aria-label": "Models that learn a text" });
    super(root, host, section, { rung: "", text_view: "ladder", cut: "blocks" });
    this.view = new View(this.section, this.store, this.scrubber, this.updates.source, {
      ...this.on,
      choose: (stage) => this.change({ rung: stage, watch: "", pin: NOTHING }),
      open: (view) => this.change({ text_view: view, pin: NOTHING }),
      cut: (cut) => this.change({ cut }),
    });
  }

  take(payload: Payload<SeriesHeader>) {
    const { header, arrays } = payload;
    super.take(payload);
    this.rows = header.stages.map((stage, n) => ({ stage, curves: curvesOf(arrays, n, stage.earlier.length) }));
  }

  /** The stage that is looked at: the chosen one, or the one that was trained last, if it can be one with heads. */
  get row(): StageRow | undefined {
    const { rung } = this.updates.values;
    const chosen = this.rows.find((one) => one.stage.name === rung);
    if (chosen) return chosen;
    const timeOf = (one: StageRow) => numberOf(one.stage);
    const withHeads = this.rows.filter((one) => one.stage.run.kinds.length > 0);
    const isAnyTrained = this.rows.some((one) => timeOf(one) > 0);
    const isOneWithHeads = withHeads.length > 0 && (!isAnyTrained || withHeads.some((one) => timeOf(one) > 0));
    const among = isOneWithHeads ? withHeads : this.rows;
    return among.reduce((last, one) => (timeOf(one) > timeOf(last) ? one : last), among[0]);
  }

  get run() {
    return this.row?.stage.run;
  }

  /** The head that is shown: the chosen one, or the first of the last layer. */
  get place(): HeadPlace {
    const [kind] = this.run?.kinds ?? [];
    const chosen = placeOf(this.values.watch);
    if (!kind) return { kind: "", layer: 0, head: 0 };
    if (chosen?.kind === kind.kind && chosen.layer < kind.layers && chosen.head < kind.heads) return chosen;
    return { kind: kind.kind, layer: kind.layers - 1, head: 0 };
  }

  shownBy(verb: string, stage: string) {
    return ["train", "all", "step"].includes(verb) ? { rung: stage, snapshot: null } : {};
  }

  show(header: SeriesHeader, around: Surroundings) {
    const { rows, row, place, step, moments } = this;
    if (!row) return;
    const { run } = row.stage;
    const has = run.kinds.length > 0;
    this.section.dataset.state = rows.some(({ stage }) => isLive(stage.run)) ? "running" : run.state;
    if (has) moments.want(run.digest, run.snapshots, step);
    const { values } = this;
    const view = NAMES.find((name) => name === values.text_view) ?? "ladder";
    const moment = has && view === "ladder" && moments.digest === run.digest ? moments.at(step) : null;
    this.store.set({
      ...{ ...around, header, rows, row, run, view, step, place, moment, values },
      ...{ without: null, failed: moments.failed },
    });
  }

  destroy() {
    super.destroy();
    this.view.destroy();
  }
}

/** @param earlier how many */
function curvesOf(arrays: Arrays, n: number, earlier: number): StageCurves {
  const one = (name: string) => arrays[`${n}.${name}`].data;
  const heldOut = (before = "") => ({ steps: one(`${before}evaluated`), values: one(`${before}held_out`) });
  return {
    loss: { steps: one("loss_steps"), values: one("loss") },
    held_out: heldOut(),
    earlier: Array.from({ length: earlier }, (_, at) => heldOut(`${at}.`)),
  };
}

export default ModelSeries;
