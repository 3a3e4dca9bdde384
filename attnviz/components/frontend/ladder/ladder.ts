// Train, part "Text": models from a table of pairs to a GPT learn the same text, and what they do at each snapshot.

import { element } from "../core/dom.ts";
import { NOTHING } from "../core/pin.ts";
import { Trainings } from "../training/trainings.ts";
import { isLive, placeOf } from "../training/words.ts";
import { VIEWS, numberOf } from "./top.ts";
import { View } from "./view.ts";

const NAMES = Object.keys(VIEWS) as (keyof typeof VIEWS)[];

class Ladder extends Trainings<LadderHeader, LadderValues, LadderShown> {
  rows: LadderRow[];
  view: View;

  constructor(root: HTMLElement, host: Host) {
    const section = element("section", { class: "training ladder", "aria-label": "Models that learn a text" });
    super(root, host, section, { rung: "", text_view: "ladder", cut: "blocks" });
    this.rows = [];
    this.view = new View(this.section, this.store, this.scrubber, this.updates.source, {
      ...this.on,
      choose: (rung) => this.change({ rung, watch: "", pin: NOTHING }),
      open: (view) => this.change({ text_view: view, pin: NOTHING }),
      cut: (cut) => this.change({ cut }),
    });
  }

  take(payload: Payload<LadderHeader>) {
    const { header, arrays } = payload;
    super.take(payload);
    this.rows = header.rungs.map((rung, n) => ({ rung, curves: curvesOf(arrays, n, rung.earlier.length) }));
  }

  /** The rung that is looked at: the chosen one, or the one that was trained last, if it can be one with heads. */
  get row(): LadderRow | undefined {
    const { rung } = this.updates.values;
    const chosen = this.rows.find((one) => one.rung.name === rung);
    if (chosen) return chosen;
    const timeOf = (one: LadderRow) => numberOf(one.rung);
    const withHeads = this.rows.filter((one) => one.rung.run.kinds.length > 0);
    const isAnyTrained = this.rows.some((one) => timeOf(one) > 0);
    const isOneWithHeads = withHeads.length > 0 && (!isAnyTrained || withHeads.some((one) => timeOf(one) > 0));
    const among = isOneWithHeads ? withHeads : this.rows;
    return among.reduce((last, one) => (timeOf(one) > timeOf(last) ? one : last), among[0]);
  }

  get run() {
    return this.row?.rung.run;
  }

  /** The head that is shown: the chosen one, or the first of the last layer. */
  get place(): HeadPlace {
    const [kind] = this.run?.kinds ?? [];
    const chosen = placeOf(this.updates.values.watch);
    if (!kind) return { kind: "", layer: 0, head: 0 };
    if (chosen?.kind === kind.kind && chosen.layer < kind.layers && chosen.head < kind.heads) return chosen;
    return { kind: kind.kind, layer: kind.layers - 1, head: 0 };
  }

  shownBy(verb: string, rung: string) {
    return ["train", "all", "step"].includes(verb) ? { rung, snapshot: null } : {};
  }

  show(header: LadderHeader, around: Surroundings) {
    const { rows, row, place, step, moments } = this;
    if (!row) return;
    const { run } = row.rung;
    const has = run.kinds.length > 0;
    this.section.dataset.state = rows.some(({ rung }) => isLive(rung.run)) ? "running" : run.state;
    if (has) moments.want(run.digest, run.snapshots, step);
    const { values } = this.updates;
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
function curvesOf(arrays: Arrays, n: number, earlier: number): LadderCurves {
  const one = (name: string) => arrays[`${n}.${name}`].data;
  const heldOut = (before = "") => ({ steps: one(`${before}evaluated`), values: one(`${before}held_out`) });
  return {
    loss: { steps: one("loss_steps"), values: one("loss") },
    held_out: heldOut(),
    earlier: Array.from({ length: earlier }, (_, at) => heldOut(`${at}.`)),
  };
}

export default Ladder;
