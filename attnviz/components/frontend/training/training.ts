// Train: the curves of a training, and the attention of its heads at each snapshot, through which the browser goes by
// itself.

import { setTheme } from "../core/colours.ts";
import { element, screenReaderOnly, theme } from "../core/dom.ts";
import { Latest } from "../core/latest.ts";
import { NOTHING, samePin } from "../core/pin.ts";
import { fit } from "./lesson.ts";
import { Moments } from "./moments.ts";
import { bestOf, curvesOf, lastBefore, nearest } from "./numbers.ts";
import { Part } from "./part.ts";
import { findAgain } from "./visitor.ts";
import { placeKey, placeOf } from "./words.ts";
import { View } from "./view.ts";
import type { Known } from "./charts.ts";

const CALM = 350; // ms: keys run through many snapshots, and a model without each of its heads takes long
const SETTLE = 300; // ms: keys and the slider run through many snapshots, the link needs only the last

class Training extends Part<TrainingHeader, TrainingValues> {
  known: Known[];
  moments: Moments;
  ablation: Latest;
  announcement: HTMLParagraphElement;
  view: View;

  /** @param each snapshots a request at most */
  constructor(root: HTMLElement, host: Host, each?: number) {
    super(root, host, element("section", { class: "training", "aria-label": "A model in training" }), {
      ...{ watch: "", snapshot: null, pin: NOTHING, predict: false, run: "", slow: 0, visitor: "" },
      command: [0, ""],
    });
    this.known = [];
    const { source } = this.updates;
    this.moments = new Moments(source, () => this.draw(), each);
    this.ablation = new Latest(source, () => this.draw(), CALM);
    this.announcement = screenReaderOnly({ role: "status" });
    this.view = new View(this.section, {
      command: (name) => this.command(name),
      slow: (slow) => this.change({ slow }),
      go: (snapshot) => this.go(snapshot),
      watch: (place) => this.change({ watch: placeKey(place) }),
      pin: (pin) => this.change({ pin: samePin(pin, this.updates.values.pin) ? NOTHING : pin }),
      show: (run) => this.change({ run, snapshot: null }),
      reveal: () => this.change({ predict: false }),
    });
    this.section.append(this.announcement);
  }

  take(payload: Payload<TrainingHeader>) {
    const { header, arrays } = payload;
    if (!this.header && !header.is_page) findAgain(this.updates, header.values.visitor);
    super.take(payload);
    this.known = header.runs.map((run, n) => ({ run, curves: curvesOf(arrays, n, header.task.patterns) }));
    const state = this.shown?.run.state ?? "new";
    if (this.section.dataset.state !== state) this.section.dataset.state = state;
  }

  /** The training that is shown: the chosen one, or the newest. */
  get shown() {
    const { run } = this.updates.values;
    return this.known.find((one) => one.run.id === run) ?? this.known.at(-1) ?? null;
  }

  /** The step of the shown snapshot. */
  get step() {
    const steps = this.shown?.run.snapshots ?? [];
    const { snapshot } = this.updates.values;
    return snapshot === null ? (steps.at(-1) ?? 0) : nearest(steps, snapshot);
  }

  /** The head that is shown: the chosen one, or the one that shows the last pattern most. */
  get place(): HeadPlace {
    const kinds = this.shown?.run.kinds ?? [];
    const chosen = placeOf(this.updates.values.watch);
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

  /** Goes to the snapshot nearest to a step; null is the newest. */
  go(snapshot: number | null) {
    const steps = this.shown?.run.snapshots ?? [];
    const to = snapshot === null ? null : nearest(steps, snapshot);
    const snap = to === steps.at(-1) ? null : to;
    if (this.updates.set({ snapshot: snap }, SETTLE)) this.draw();
  }

  command(name: string) {
    if (this.header?.is_page) return;
    this.view.pause();
    const shown = ["train", "control", "continue", "step"].includes(name) ? { snapshot: null, run: "" } : {};
    this.change({ ...shown, command: [Date.now(), name] });
  }

  acts() {
    return {
      ...this.view.acts(
        () => this.updates.values.predict,
        (values) => this.change(values),
      ),
      h: () => this.nextHead(1),
      "Shift+h": () => this.nextHead(-1),
    };
  }

  nextHead(by: number) {
    const all = (this.shown?.run.kinds ?? []).flatMap(({ kind, layers, heads }) =>
      Array.from({ length: layers * heads }, (_, n) => ({ kind, layer: Math.floor(n / heads), head: n % heads })),
    );
    const at = all.findIndex((one) => placeKey(one) === placeKey(this.place));
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    if (next) this.change({ watch: placeKey(next) });
  }

  // ---- what is shown

  draw() {
    const { header, shown, step, place } = this;
    if (!header || !shown) return;
    fit(this.section, header.in_lesson);
    const shade = theme(this.section);
    setTheme(this.section, shade);
    this.moments.want(shown.run.digest, shown.run.snapshots, step);
    const { digest } = shown.run;
    const isLive = shown.run.state === "running";
    const ablation = this.ablation.of(digest && !isLive ? `${digest}~a.${step}` : "");
    // Of the model without each head, in order, and last of the whole model.
    const without = ablation && Array.from(ablation.accuracy.data);
    this.view.update({
      ...{ header, known: this.known, shown, step, place, theme: shade, without },
      ...{ values: this.updates.values, moment: this.moments.at(step), failed: this.moments.failed },
    });
  }

  destroy() {
    super.destroy();
    this.ablation.destroy();
    this.moments.destroy();
    this.view.destroy();
  }
}

export default Training;
