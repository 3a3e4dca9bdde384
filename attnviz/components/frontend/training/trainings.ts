// What the views of a task's and of a text's trainings share: snapshots, the head that is looked at, a pinned cell, and
// commands to the server.

import { nextNumber } from "../core/pending_updates.ts";
import { NOTHING, samePin } from "../core/pin.ts";
import { Marks } from "../marks/marks.ts";
import { Moments } from "./moments.ts";
import { nearest } from "./numbers.ts";
import { Part, SETTLE } from "./part.ts";
import { findAgain } from "./visitor.ts";
import { placeKey, placeOf } from "./words.ts";
import type { HeadsActs, HeadsView } from "./heads_view.ts";

const FIRST: SnapshotValues = {
  ...{ watch: "", snapshot: null, pin: NOTHING, predict: false, slow: 0, commands: [], visitor: "" },
};

type Told = { values: { visitor: string }; is_page?: boolean; in_lesson: boolean; acknowledged: number };

export abstract class Trainings<
  Header extends Told,
  Values extends SnapshotValues,
  Shown extends { hovered: Pair },
> extends Part<Header, Values, Shown> {
  moments: Moments;
  /** what a word of a lesson names */
  named: Target | null = null;
  marks: Marks;
  abstract view: HeadsView;

  /** @param values to begin with, beside those that all trainings have @param each as for `Moments` */
  constructor(
    root: HTMLElement,
    host: Host,
    section: HTMLElement,
    values: Omit<Values, keyof SnapshotValues>,
    each?: number,
  ) {
    super(root, host, section, { ...FIRST, ...values } as Values, { hovered: NOTHING } as Partial<Shown>);
    this.moments = new Moments(this.updates.source, () => this.draw(), each);
    this.marks = new Marks([document], {
      onName: (target) => this.name(target),
      onPin: ({ row: q, column: k }) => this.on.pin({ q, k }),
      onHead: ([layer, head]) => this.set({ watch: placeKey({ kind: this.kind, layer, head }) }),
      onStep: (step) => this.go(step),
    });
    this.store.subscribe(["hovered"], () => this.light());
  }

  take(payload: Payload<Header>) {
    const { is_page: isPage, values } = payload.header;
    if (!this.header && !isPage) findAgain({ set: (found) => this.set(found) }, values.visitor);
    super.take(payload);
  }

  /** The training that is shown. */
  abstract get run(): TrainingRun | undefined;

  /** What a command shows: values that are set with it. */
  abstract shownBy(verb: string, about: string): Partial<Values>;

  /** What is shown: what is chosen or, for as long as it is named, the snapshot and the head of a word. */
  get values(): Values {
    const { values } = this.updates;
    const { step = null, layer = null, head = null } = this.named ?? {};
    if (step === null && (layer === null || head === null)) return values;
    const watch = layer === null || head === null ? values.watch : placeKey({ kind: this.kind, layer, head });
    return { ...values, watch, snapshot: step ?? values.snapshot };
  }

  /** The kind of attention of the chosen head. */
  get kind() {
    const kinds = this.run?.kinds ?? [];
    const chosen = placeOf(this.updates.values.watch)?.kind;
    return kinds.find(({ kind }) => kind === chosen)?.kind ?? kinds.at(-1)?.kind ?? "";
  }

  /** Shows what a word names; null: nothing any more. */
  name(named: Target | null) {
    this.named = named;
    this.view.name(named);
    this.draw();
  }

  draw() {
    super.draw();
    this.light();
  }

  /** Lights the words that name what is pointed at, or pinned. */
  light() {
    if (this.header) this.marks.show(this.view.lit());
  }

  /** The step of the shown snapshot. */
  get step() {
    const steps = this.run?.snapshots ?? [];
    const { snapshot } = this.values;
    return snapshot === null ? (steps.at(-1) ?? 0) : nearest(steps, snapshot);
  }

  /** Goes to the snapshot nearest to a step; null is the newest. */
  go(snapshot: number | null) {
    const steps = this.run?.snapshots ?? [];
    const to = snapshot === null ? null : nearest(steps, snapshot);
    this.set({ snapshot: to === steps.at(-1) ? null : to }, SETTLE);
  }

  command(name: string) {
    if (this.header?.is_page) return;
    this.scrubber.pause();
    const [verb, about = ""] = name.split(":");
    const unread = this.updates.pending.has("commands") ? this.updates.values.commands : [];
    const commands: SnapshotValues["commands"] = [...unread, [nextNumber(), name]];
    this.change({ ...this.shownBy(verb, about), commands } as Partial<Values>);
  }

  /** Changes values that all trainings have. */
  set(values: Partial<SnapshotValues>, wait = 0) {
    this.change(values as Partial<Values>, wait);
  }

  /** What the user does with the heads and the trainings. */
  get on(): HeadsActs {
    return {
      command: (name) => this.command(name),
      slow: (slow) => this.set({ slow }),
      go: (step) => this.go(step),
      watch: (place) => this.set({ watch: placeKey(place) }),
      pin: (pin) => this.set({ pin: samePin(pin, this.updates.values.pin) ? NOTHING : pin }),
      reveal: () => this.set({ predict: false }),
    };
  }

  acts() {
    const press = (css: string) => this.section.querySelector<HTMLElement>(css)?.click();
    return {
      ...super.acts(),
      Enter: () => press("button.main"),
      ".": () => press("button.one"),
      p: () => this.set({ predict: !this.updates.values.predict }),
      r: () => this.set({ predict: false }),
      Escape: () => this.set({ pin: NOTHING }),
    };
  }

  destroy() {
    super.destroy();
    this.marks.destroy();
    this.moments.destroy();
  }
}
