// Train: the curves of a training, and the attention of its heads at each snapshot, through which the browser goes by
// itself.

import { fromServer } from "../core/arrays.js";
import { setTheme } from "../core/colours.js";
import { element, screenReaderOnly, theme } from "../core/dom.js";
import { isShortcut, pressed } from "../core/keys.js";
import { unpack } from "../core/packing.js";
import { NOTHING, samePin } from "../core/pin.js";
import { PendingUpdates } from "../core/pending_updates.js";
import { Ablation } from "./ablation.js";
import { isPressing } from "./keys.js";
import { fit, goesOn } from "./lesson.js";
import { Moments } from "./moments.js";
import { bestOf, curvesOf, lastBefore, nearest } from "./numbers.js";
import { readKept, writeKept } from "./visitor.js";
import { placeKey, placeOf } from "./words.js";
import { View } from "./view.js";

const SETTLE = 300; // ms: keys and the slider run through many snapshots, the link needs only the last

/** @typedef {import("./charts.js").Known} Known */

class Training {
  /**
   * @param {HTMLElement} root @param {string} server
   * @param {import("../core/arrays.js").Source | null} files where snapshots come from, one at a time, without a server
   */
  constructor(root, server, files = null) {
    /** @type {SetTriggerValue} */
    this.setTriggerValue = () => {};
    /** @type {TrainingHeader | null} */
    this.header = null;
    /** @type {Known[]} */
    this.known = [];
    /** @type {PendingUpdates<TrainingValues>} */
    this.updates = new PendingUpdates((message) => this.setTriggerValue("updates", message), {
      ...{ watch: "", snapshot: null, pin: NOTHING, predict: false, run: "", slow: 0, visitor: "" },
      command: [0, ""],
    });
    const source = files ?? { request: fromServer(server), offerAgain: () => this.updates.ask() };
    this.moments = new Moments(source, () => this.draw(), files ? 1 : undefined);
    this.ablation = new Ablation(source, () => this.draw());
    this.section = element("section", { class: "training", "aria-label": "A model in training" });
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
    root.append(this.section);
    Object.assign(this.section, { attnviz: this });
    this.ends = new AbortController();
    document.addEventListener("keydown", (event) => this.key(event), { signal: this.ends.signal });
    const resized = () => fit(this.section, this.header?.in_lesson ?? false);
    window.addEventListener("resize", resized, { signal: this.ends.signal });
  }

  /** @param {Uint8Array} data @param {SetTriggerValue} setTriggerValue @param {boolean} isNew */
  update(data, setTriggerValue, isNew) {
    this.setTriggerValue = setTriggerValue;
    if (isNew) this.take(unpack(data));
    this.draw();
  }

  /** @param {Payload<TrainingHeader>} payload */
  take({ header, arrays }) {
    if (!this.header && !header.is_page) this.findAgain(header.values.visitor);
    this.header = header;
    this.updates.receive(header.values, header.acknowledged);
    this.updates.answer();
    this.known = header.runs.map((run, n) => ({ run, curves: curvesOf(arrays, n, header.task.patterns) }));
    const state = this.shown?.run.state ?? "new";
    if (this.section.dataset.state !== state) this.section.dataset.state = state;
  }

  /** After a reload the tab still knows the name of its trainings. @param {string} given */
  findAgain(given) {
    const kept = readKept();
    if (kept && kept !== given) this.updates.set({ visitor: kept });
    else writeKept(given);
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

  /** The head that is shown: the chosen one, or the one that shows the last pattern most. @returns {HeadPlace} */
  get place() {
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

  /** @param {Partial<TrainingValues>} values @param {number} wait */
  change(values, wait = 0) {
    if (this.updates.set(values, wait)) this.draw();
  }

  /** Goes to the snapshot nearest to a step; null is the newest. @param {number | null} snapshot */
  go(snapshot) {
    const steps = this.shown?.run.snapshots ?? [];
    const to = snapshot === null ? null : nearest(steps, snapshot);
    const snap = to === steps.at(-1) ? null : to;
    if (this.updates.set({ snapshot: snap }, SETTLE)) this.draw();
  }

  /** @param {string} name */
  command(name) {
    if (this.header?.is_page) return;
    this.view.pause();
    const shown = ["train", "control", "continue", "step"].includes(name) ? { snapshot: null, run: "" } : {};
    this.change({ ...shown, command: [Date.now(), name] });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!isShortcut(event)) return;
    if (isPressing(event)) return;
    /** @type {Record<string, () => void>} */
    const acts = {
      Enter: () => this.view.pressMain(),
      ArrowRight: () => this.view.move(1),
      ArrowLeft: () => this.view.move(-1),
      PageDown: () => this.view.move(1),
      PageUp: () => this.view.move(-1),
      k: () => this.view.play(),
      ".": () => this.view.pressOne(),
      p: () => this.change({ predict: !this.updates.values.predict }),
      r: () => this.change({ predict: false }),
      h: () => this.nextHead(1),
      "Shift+h": () => this.nextHead(-1),
      Escape: () => this.change({ pin: NOTHING }),
    };
    const act = acts[pressed(event)];
    if (!act || (this.header?.in_lesson && goesOn(event))) return;
    event.preventDefault();
    act();
  }

  /** @param {number} by */
  nextHead(by) {
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
    const isLive = shown.run.state === "running";
    const without = isLive ? null : this.ablation.of(shown.run.digest, step);
    this.view.update({
      ...{ header, known: this.known, shown, step, place, theme: shade, without },
      ...{ values: this.updates.values, moment: this.moments.at(step), failed: this.moments.failed },
    });
  }

  destroy() {
    this.ends.abort();
    this.updates.destroy();
    this.ablation.destroy();
    this.view.destroy();
    this.section.remove();
  }
}

export default Training;
