// Train, part "Text": models from a table of pairs to a GPT learn the same text, and what they do at each snapshot.

import { setTheme } from "../core/colours.ts";
import { element, theme } from "../core/dom.ts";
import { NOTHING, samePin } from "../core/pin.ts";
import { fit } from "../training/lesson.ts";
import { Moments } from "../training/moments.ts";
import { nearest } from "../training/numbers.ts";
import { Part } from "../training/part.ts";
import { findAgain } from "../training/visitor.ts";
import { placeKey, placeOf } from "../training/words.ts";
import { numberOf } from "./top.ts";
import { View } from "./view.ts";

const SETTLE = 300; // ms: keys and the slider run through many snapshots, the link needs only the last
const LIVE = ["running", "queued"];

class Ladder extends Part<LadderHeader, LadderValues> {
  rows: LadderRow[];
  moments: Moments;
  view: View;

  constructor(root: HTMLElement, host: Host) {
    super(root, host, element("section", { class: "training ladder", "aria-label": "Models that learn a text" }), {
      ...{ rung: "", text_view: "ladder", cut: "blocks", watch: "", snapshot: null, pin: NOTHING, predict: false },
      ...{ slow: 0, visitor: "" },
      command: [0, ""],
    });
    this.rows = [];
    const { source } = this.updates;
    this.moments = new Moments(source, () => this.draw());
    this.view = new View(this.section, source, {
      command: (name) => this.command(name),
      slow: (slow) => this.change({ slow }),
      go: (snapshot) => this.go(snapshot),
      watch: (place) => this.change({ watch: placeKey(place) }),
      pin: (pin) => this.change({ pin: samePin(pin, this.updates.values.pin) ? NOTHING : pin }),
      reveal: () => this.change({ predict: false }),
      choose: (rung) => this.change({ rung, watch: "", pin: NOTHING }),
      open: (view) => this.change({ text_view: view, pin: NOTHING }),
      cut: (cut) => this.change({ cut }),
      redraw: () => this.draw(),
    });
  }

  take(payload: Payload<LadderHeader>) {
    const { header, arrays } = payload;
    if (!this.header) findAgain(this.updates, header.values.visitor);
    super.take(payload);
    this.rows = header.rungs.map((rung, n) => ({ rung, curves: curvesOf(arrays, n, rung.earlier.length) }));
  }

  /** The rung that is looked at: the chosen one, or the one that was trained last, if it can be one with heads. */
  get row() {
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

  /** The head that is shown: the chosen one, or the first of the last layer. */
  get place(): HeadPlace {
    const [kind] = this.row.rung.run.kinds;
    const chosen = placeOf(this.updates.values.watch);
    if (!kind) return { kind: "", layer: 0, head: 0 };
    if (chosen?.kind === kind.kind && chosen.layer < kind.layers && chosen.head < kind.heads) return chosen;
    return { kind: kind.kind, layer: kind.layers - 1, head: 0 };
  }

  // ---- what the user does

  /** Goes to the snapshot nearest to a step; null is the newest. */
  go(snapshot: number | null) {
    const steps = this.row.rung.run.snapshots;
    const to = snapshot === null ? null : nearest(steps, snapshot);
    if (this.updates.set({ snapshot: to === steps.at(-1) ? null : to }, SETTLE)) this.draw();
  }

  command(name: string) {
    this.view.pause();
    const [verb, rung = ""] = name.split(":");
    const begins = ["train", "all", "step"].includes(verb);
    this.change({ ...(begins ? { rung, snapshot: null } : {}), command: [Date.now(), name] });
  }

  acts() {
    return this.view.acts(
      () => this.updates.values.predict,
      (values) => this.change(values),
    );
  }

  // ---- what is shown

  draw() {
    const { header, rows } = this;
    if (!header || !rows.length) return;
    const { row, place } = this;
    const { values } = this.updates;
    const { run } = row.rung;
    const step = values.snapshot === null ? (run.snapshots.at(-1) ?? 0) : nearest(run.snapshots, values.snapshot);
    fit(this.section, header.in_lesson);
    const shade = theme(this.section);
    setTheme(this.section, shade);
    this.section.dataset.state = rows.find(({ rung }) => LIVE.includes(rung.run.state)) ? "running" : run.state;
    if (run.kinds.length) this.moments.want(run.digest, run.snapshots, step);
    const moment = run.kinds.length && this.moments.digest === run.digest ? this.moments.at(step) : null;
    this.view.update({
      ...{ header, rows, row, step, place, values, moment },
      ...{ theme: shade, failed: this.moments.failed },
    });
  }

  destroy() {
    super.destroy();
    this.moments.destroy();
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
