// What the views of a task's and of a text's trainings share: the heads at a snapshot, and what goes through snapshots.

import { element, setText } from "../core/dom.ts";
import { NOTHING } from "../core/pin.ts";
import { Heads } from "./heads.ts";
import { Opener } from "./opener.ts";
import { Scrubber } from "./transport.ts";
import { COVERED, cellText } from "./words.ts";

export interface HeadsActs {
  command: (name: string) => void;
  go: (step: number | null) => void;
  watch: (place: HeadPlace) => void;
  pin: (pin: Pair) => void;
  reveal: () => void;
}

export class HeadsView<Given extends { values: { pin: Pair } }> {
  hint: string;
  given: Given | null;
  hovered: Pair;
  title: HTMLHeadingElement;
  small: HTMLDivElement;
  large: HTMLDivElement;
  reading: HTMLParagraphElement;
  heads: Heads;
  bottom: HTMLDivElement;
  scrubber: Scrubber;
  opener: Opener;

  /** @param options `writes` as for `Opener` */
  constructor(on: HeadsActs, { hint, writes }: { hint: string; writes: boolean }) {
    this.hint = hint;
    this.given = null;
    this.hovered = { q: null, k: null };
    this.title = element("h2", { class: "head-name" });
    this.small = element("div", { class: "small" });
    this.large = element("div", { class: "large" });
    this.reading = element("p", { class: "reading" });
    this.heads = new Heads(
      { small: this.small, large: this.large },
      { onWatch: on.watch, onPoint: (at) => this.point(at), onPin: on.pin, onReveal: on.reveal },
    );
    this.bottom = element("div", { class: "bottom" });
    this.scrubber = new Scrubber(on.go);
    this.bottom.append(this.scrubber.element);
    this.opener = new Opener(this.scrubber.element, on.command, writes);
  }

  point(at: Pair) {
    this.hovered = at;
    if (this.given) this.heads.light(this.given.values.pin);
    this.read();
  }

  /** Writes the weight of the cell that is pointed at or pinned. */
  read() {
    const { kind, covered } = this.heads;
    const at = this.hovered.q === null ? this.given?.values.pin : this.hovered;
    const isThere = kind && at && at.q !== null && at.k !== null && at.q < kind.rows && at.k < kind.cols;
    delete this.reading.dataset.value;
    if (covered !== null && (!isThere || at.q === covered)) setText(this.reading, COVERED);
    else if (!isThere || at.q === null || at.k === null) setText(this.reading, this.hint);
    else {
      const weight = this.heads.weightAt(at.q, at.k);
      this.reading.dataset.value = String(weight);
      setText(this.reading, cellText(kind, at.q, at.k, weight));
    }
  }

  pause() {
    this.scrubber.pause();
  }

  /** What starts, stops and paces a training. */
  buttons(): { main: HTMLElement; one: HTMLElement } | null {
    return null;
  }

  /** What keys do, by their names. @param isCovered whether the pinned row is */
  acts(
    isCovered: () => boolean,
    change: (values: { pin?: Pair; predict?: boolean }) => void,
  ): Record<string, () => void> {
    return {
      Enter: () => this.buttons()?.main.click(),
      ArrowRight: () => this.scrubber.move(1),
      ArrowLeft: () => this.scrubber.move(-1),
      PageDown: () => this.scrubber.move(1),
      PageUp: () => this.scrubber.move(-1),
      k: () => this.scrubber.toggle(),
      ".": () => this.buttons()?.one.click(),
      p: () => change({ predict: !isCovered() }),
      r: () => change({ predict: false }),
      Escape: () => change({ pin: NOTHING }),
    };
  }

  destroy() {
    this.heads.destroy();
    this.scrubber.destroy();
  }
}
