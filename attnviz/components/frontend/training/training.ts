// Train: the curves of a training, and the attention of its heads at each snapshot, through which the browser goes by
// itself.

import { element } from "../core/dom.ts";
import { Latest } from "../core/latest.ts";
import { bestOf, curvesOf, lastBefore } from "./numbers.ts";
import { Trainings } from "./trainings.ts";
import { placeKey, placeOf } from "./words.ts";
import { View } from "./view.ts";
import type { Known } from "./charts.ts";
import type { Shown } from "./view.ts";

const CALM = 350; // ms: keys run through many snapshots, and a model without each of its heads takes long

class Training extends Trainings<TrainingHeader, TrainingValues, Shown> {
  known: Known[] = [];
  ablation: Latest;
  view: View;

  /** @param each snapshots a request at most */
  constructor(root: HTMLElement, host: Host, each?: number) {
    const section = element("section", { class: "training", "aria-label": "A model in training" });
    super(root, host, section, { run: "" }, each);
    this.ablation = new Latest(this.updates.source, () => this.draw(), CALM);
    const show = (run: string) => this.change({ run, snapshot: null });
    this.view = new View(this.section, this.store, this.scrubber, { ...this.on, show });
  }

  take(payload: Payload<TrainingHeader>) {
    const { header, arrays } = payload;
    super.take(payload);
    this.known = header.runs.map((run, n) => ({ run, curves: curvesOf(arrays, n, header.task.patterns) }));
    const state = this.run?.state ?? "new";
    if (this.section.dataset.state !== state) this.section.dataset.state = state;
  }

  /** The training that is shown: the chosen one, or the newest. */
  get shown() {
    const { run } = this.updates.values;
    return this.known.find((one) => one.run.id === run) ?? this.known.at(-1) ?? null;
  }

  get run() {
    return this.shown?.run;
  }

  /** The head that is shown: the chosen one, or the one that shows the last pattern most. */
  get place(): HeadPlace {
    const kinds = this.run?.kinds ?? [];
    const chosen = placeOf(this.values.watch);
    const own = kinds.find(({ kind }) => kind === chosen?.kind);
    if (chosen && own && chosen.layer < own.layers && chosen.head < own.heads) return chosen;
    const pattern = this.header?.task.patterns.at(-1);
    const kind = kinds.find((one) => one.kind === pattern?.kind) ?? kinds.at(-1);
    if (!kind) return { kind: "", layer: 0, head: 0 };
    const scores = this.shown?.curves.scores.at(-1);
    const best = scores && bestOf(scores, lastBefore(scores.steps, Infinity));
    const at = best?.head ?? (kind.layers - 1) * kind.heads;
    return { kind: kind.kind, layer: Math.floor(at / kind.heads), head: at % kind.heads };
  }

  // ---- what the user does

  shownBy(verb: string) {
    return ["train", "control", "continue", "step"].includes(verb) ? { snapshot: null, run: "" } : {};
  }

  acts() {
    return { ...super.acts(), h: () => this.nextHead(1), "Shift+h": () => this.nextHead(-1) };
  }

  nextHead(by: number) {
    const all = (this.run?.kinds ?? []).flatMap(({ kind, layers, heads }) =>
      Array.from({ length: layers * heads }, (_, n) => ({ kind, layer: Math.floor(n / heads), head: n % heads })),
    );
    const at = all.findIndex((one) => placeKey(one) === placeKey(this.place));
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    if (next) this.change({ watch: placeKey(next) });
  }

  // ---- what is shown

  show(header: TrainingHeader, around: Surroundings) {
    const { shown, step, place, known, moments } = this;
    if (!shown) return;
    const { run } = shown;
    moments.want(run.digest, run.snapshots, step);
    const ablation = this.ablation.of(run.digest && run.state !== "running" ? `${run.digest}~a.${step}` : "");
    // Of the model without each head, in order, and last of the whole model.
    const without = ablation && Array.from(ablation.accuracy.data);
    const tested = ablation ? ablation.sequences.data[0] : 0;
    this.store.set({
      ...{ ...around, header, known, shown, run, step, without, tested, failed: moments.failed },
      ...{ place, values: this.values, moment: moments.at(step) },
    });
  }

  destroy() {
    super.destroy();
    this.ablation.destroy();
    this.view.destroy();
  }
}

export default Training;
