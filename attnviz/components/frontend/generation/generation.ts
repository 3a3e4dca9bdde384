// Generate: a text that a model has written, character by character, and the numbers of every draw. All of them come
// at once, so that the browser goes through the characters by itself.

import { element } from "../core/dom.ts";
import { Latest } from "../core/latest.ts";
import { Part, SETTLE } from "../training/part.ts";
import { SNAPSHOTS } from "../training/transport.ts";
import { placeKey, placeOf } from "../training/words.ts";
import { Draws } from "./draws.ts";
import { View } from "./view.ts";
import { nextSeed } from "./words.ts";
import type { Shown } from "./view.ts";

/** what a panel compares with, by the name of its part */
const COMPARED: Partial<Record<GenerationPanel, string>> = { seeds: "again", cache: "cache", half: "half" };
const PACE = {
  ...SNAPSHOTS,
  ...{
    name: "Character",
    play: "Generate it character by character",
    next: "Next character",
    frame: 160,
    longest: 60_000,
  },
  said: (step: number) => `character ${step}`,
};

class Generation extends Part<GenerationHeader, GenerationValues, Shown> {
  draws: Draws | null = null;
  digest = ""; // of the draws that are here
  drawn: Latest;
  other: Latest;
  view: View;

  constructor(root: HTMLElement, host: Host) {
    const section = element("section", { class: "generation", "aria-label": "Generated text" });
    const values: GenerationValues = { drawn: null, watch: "", panel: "draw", seed: 0 };
    super(root, host, section, values, { isComing: false, pointed: "" }, PACE);
    const { source } = this.updates;
    this.drawn = new Latest(source, () => this.draw());
    this.other = new Latest(source, () => this.draw()); // what the shown panel compares with
    this.view = new View(this.section, this.store, this.scrubber, {
      choose: (n) => this.choose(n),
      watch: (head) => this.change({ watch: head === null ? "" : this.nameOf(head) }),
      show: (panel) => this.change({ panel }),
      again: () => this.again(),
    });
  }

  /** Takes the draws of the text that is chosen, if they are here. */
  takeDraws() {
    const { digest, model } = this.header as GenerationHeader;
    const arrays = this.drawn.of(digest);
    if (arrays && digest !== this.digest) {
      this.draws = new Draws(arrays, model);
      this.digest = digest;
    }
    if (this.drawn.failed) {
      this.draws = null;
      this.digest = "";
    }
  }

  /** What the shown panel compares with; null if it has not come yet, or there is nothing. */
  compared() {
    const part = COMPARED[this.updates.values.panel];
    const isNone =
      !part ||
      !this.draws ||
      (part === "cache" && !this.header?.model.has_cache) ||
      (part === "half" && !this.header?.truth);
    return this.other.of(isNone ? "" : `${this.digest}~${part}`);
  }

  /** The chosen draw. */
  get n() {
    const last = (this.draws?.length ?? 1) - 1;
    return Math.min(this.updates.values.drawn ?? last, last);
  }

  /** The chosen head, as its number among all; null if there is none. */
  get head() {
    const { layers = 0, heads = 0 } = this.header?.model ?? {};
    const place = placeOf(this.updates.values.watch);
    const isThere = place && place.layer < layers && place.head < heads;
    return isThere ? place.layer * heads + place.head : null;
  }

  nameOf(head: number) {
    const { heads } = (this.header as GenerationHeader).model;
    return placeKey({ kind: "decoder", layer: Math.floor(head / heads), head: head % heads });
  }

  // ---- what the user does

  /** @param step the number of a draw, from 1 on; null is the last */
  go(step: number | null) {
    this.choose(step === null ? Infinity : step - 1);
  }

  choose(n: number) {
    const last = (this.draws?.length ?? 1) - 1;
    this.change({ drawn: n >= last ? null : Math.max(0, n) }, SETTLE);
  }

  again() {
    const { seed } = this.updates.values;
    this.scrubber.pause();
    this.change({ seed: nextSeed(seed) });
  }

  nextHead(by: number) {
    const { layers = 0, heads = 0 } = this.header?.model ?? {};
    const count = layers * heads;
    if (!count) return;
    const at = this.head === null ? (by > 0 ? 0 : count - 1) : Math.min(Math.max(this.head + by, 0), count - 1);
    this.change({ watch: this.nameOf(at) });
  }

  acts() {
    return {
      ...super.acts(),
      h: () => this.nextHead(1),
      "Shift+h": () => this.nextHead(-1),
      Escape: () => this.change({ watch: "" }),
    };
  }

  // ---- what is shown

  show(header: GenerationHeader, around: Surroundings) {
    this.takeDraws();
    const { draws, n } = this;
    const isHere = draws !== null && this.digest === header.digest;
    this.section.dataset.state = this.drawn.failed ? "failed" : isHere ? "ready" : "waiting";
    this.section.dataset.n = String(n);
    // Until the new text is here, the one before stays with what was said of it, and fades.
    if (draws && !isHere) return this.store.set({ isComing: true });
    const { panel } = this.updates.values;
    const other = this.compared();
    const failed = this.drawn.failed || this.other.failed;
    const before = this.store.state;
    // A row that is taken away from under the pointer is not told that the pointer has left it.
    if (before.panel !== panel || before.draws !== draws) this.store.set({ pointed: "" });
    this.store.set({
      ...{ header, draws, panel, n, head: this.head, other, failed },
      ...{ isComing: false, isPlaying: this.scrubber.playing > 0, ...around },
    });
  }

  destroy() {
    super.destroy();
    this.drawn.destroy();
    this.other.destroy();
    this.view.destroy();
  }
}

export default Generation;
