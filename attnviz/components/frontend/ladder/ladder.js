// Train, part "Text": models from a table of pairs to a GPT learn the same text, and what they do at each snapshot.

import { fromServer } from "../core/arrays.js";
import { setTheme } from "../core/colours.js";
import { element, theme } from "../core/dom.js";
import { isShortcut, pressed } from "../core/keys.js";
import { unpack } from "../core/packing.js";
import { NOTHING, samePin } from "../core/pin.js";
import { PendingUpdates } from "../core/pending_updates.js";
import { isPressing } from "../training/keys.js";
import { fit, goesOn } from "../training/lesson.js";
import { Moments } from "../training/moments.js";
import { nearest } from "../training/numbers.js";
import { readKept, writeKept } from "../training/visitor.js";
import { placeKey, placeOf } from "../training/words.js";
import { numberOf } from "./top.js";
import { View } from "./view.js";

const SETTLE = 300; // ms: keys and the slider run through many snapshots, the link needs only the last
const LIVE = ["running", "queued"];

class Ladder {
  /** @param {HTMLElement} root @param {string} server */
  constructor(root, server) {
    /** @type {SetTriggerValue} */
    this.setTriggerValue = () => {};
    /** @type {LadderHeader | null} */
    this.header = null;
    /** @type {LadderRow[]} */
    this.rows = [];
    /** @type {PendingUpdates<LadderValues>} */
    this.updates = new PendingUpdates((message) => this.setTriggerValue("updates", message), {
      ...{ rung: "", text_view: "ladder", cut: "blocks", watch: "", snapshot: null, pin: NOTHING, predict: false },
      ...{ slow: 0, visitor: "" },
      command: [0, ""],
    });
    const source = { request: fromServer(server), offerAgain: () => this.updates.ask() };
    this.moments = new Moments(source, () => this.draw());
    this.section = element("section", { class: "training ladder", "aria-label": "Models that learn a text" });
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

  /** @param {Payload<LadderHeader>} payload */
  take({ header, arrays }) {
    if (!this.header) this.findAgain(header.values.visitor);
    this.header = header;
    this.updates.receive(header.values, header.acknowledged);
    this.updates.answer();
    this.rows = header.rungs.map((rung, n) => ({ rung, curves: curvesOf(arrays, n, rung.earlier.length) }));
  }

  /** After a reload the tab still knows the name of its trainings. @param {string} given */
  findAgain(given) {
    const kept = readKept();
    if (kept && kept !== given) this.updates.set({ visitor: kept });
    else writeKept(given);
  }

  /** The rung that is looked at: the chosen one, or the one that was trained last, if it can be one with heads. */
  get row() {
    const { rung } = this.updates.values;
    const chosen = this.rows.find((one) => one.rung.name === rung);
    if (chosen) return chosen;
    const timeOf = (/** @type {LadderRow} */ one) => numberOf(one.rung);
    const withHeads = this.rows.filter((one) => one.rung.run.kinds.length > 0);
    const isAnyTrained = this.rows.some((one) => timeOf(one) > 0);
    const isOneWithHeads = withHeads.length > 0 && (!isAnyTrained || withHeads.some((one) => timeOf(one) > 0));
    const among = isOneWithHeads ? withHeads : this.rows;
    return among.reduce((last, one) => (timeOf(one) > timeOf(last) ? one : last), among[0]);
  }

  /** The head that is shown: the chosen one, or the first of the last layer. @returns {HeadPlace} */
  get place() {
    const [kind] = this.row.rung.run.kinds;
    const chosen = placeOf(this.updates.values.watch);
    if (!kind) return { kind: "", layer: 0, head: 0 };
    if (chosen?.kind === kind.kind && chosen.layer < kind.layers && chosen.head < kind.heads) return chosen;
    return { kind: kind.kind, layer: kind.layers - 1, head: 0 };
  }

  // ---- what the user does

  /** @param {Partial<LadderValues>} values @param {number} wait */
  change(values, wait = 0) {
    if (this.updates.set(values, wait)) this.draw();
  }

  /** Goes to the snapshot nearest to a step; null is the newest. @param {number | null} snapshot */
  go(snapshot) {
    const steps = this.row.rung.run.snapshots;
    const to = snapshot === null ? null : nearest(steps, snapshot);
    if (this.updates.set({ snapshot: to === steps.at(-1) ? null : to }, SETTLE)) this.draw();
  }

  /** @param {string} name */
  command(name) {
    this.view.pause();
    const [verb, rung = ""] = name.split(":");
    const begins = ["train", "all", "step"].includes(verb);
    this.change({ ...(begins ? { rung, snapshot: null } : {}), command: [Date.now(), name] });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.header || !isShortcut(event) || isPressing(event)) return;
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
      Escape: () => this.change({ pin: NOTHING }),
    };
    const act = acts[pressed(event)];
    if (!act || (this.header.in_lesson && goesOn(event))) return;
    event.preventDefault();
    act();
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
    this.ends.abort();
    this.updates.destroy();
    this.view.destroy();
    this.section.remove();
  }
}

/** @param {Arrays} arrays @param {number} n @param {number} earlier how many @returns {LadderCurves} */
function curvesOf(arrays, n, earlier) {
  /** @param {string} name */
  const one = (name) => arrays[`${n}.${name}`].data;
  const heldOut = (before = "") => ({ steps: one(`${before}evaluated`), values: one(`${before}held_out`) });
  return {
    loss: { steps: one("loss_steps"), values: one("loss") },
    held_out: heldOut(),
    earlier: Array.from({ length: earlier }, (_, at) => heldOut(`${at}.`)),
  };
}

export default Ladder;
