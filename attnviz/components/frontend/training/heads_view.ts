// What the views of a task's and of a text's trainings share: the heads at a snapshot, and what goes through snapshots.

import { forPointer } from "../core/touch.ts";
import { quoted } from "../core/format.ts";
import { element, setText } from "../core/dom.ts";
import { Heads } from "./heads.ts";
import { Opener } from "./opener.ts";
import { GuessLine, judged } from "../core/guess_line.ts";
import { cellText, COVERED, otherStep, pictureText, placeName } from "./words.ts";
import type { Guess } from "../core/guess.ts";
import type { Store } from "../core/store.ts";
import type { Scrubber } from "./transport.ts";

export interface HeadsActs {
  command: (name: string) => void;
  slow: (ms: number) => void;
  go: (step: number | null) => void;
  watch: (place: HeadPlace) => void;
  pin: (pin: Pair) => void;
  reveal: () => void;
}
/** What is shown of the heads of a training. */
export interface HeadsShown extends Surroundings {
  run: TrainingRun;
  step: number;
  place: HeadPlace;
  moment: TrainingMoment | null;
  values: SnapshotValues;
  /** the accuracy without each head, in the order of all heads; the last is with all */
  without: number[] | null;
  hovered: Pair;
}

export class HeadsView {
  store;
  hint: string;
  title: HTMLHeadingElement = element("h2", { class: "head-name" });
  small = element("div", { class: "small" });
  large = element("div", { class: "large" });
  reading = element("p", { class: "reading" });
  guessLine: GuessLine;
  heads: Heads;
  /** what is shown large */
  of: unknown[] = [];
  scrubber: Scrubber;
  opener: Opener;

  /** @param options `writes` as for `Opener` */
  constructor(
    store: Pick<Store<HeadsShown>, "subscribe" | "set">,
    scrubber: Scrubber,
    on: HeadsActs,
    { hint, writes }: { hint: string; writes: boolean },
  ) {
    this.store = store;
    this.hint = hint;
    this.guessLine = new GuessLine(on.reveal);
    const onGuess = (guess: Guess) => (guess.isOpen ? this.sayGuess() : on.reveal());
    this.heads = new Heads(
      { small: this.small, large: this.large },
      { onWatch: on.watch, onPoint: (hovered) => store.set({ hovered }), onPin: on.pin, onGuess },
    );
    this.scrubber = scrubber;
    this.opener = new Opener(scrubber.element, on.command, writes);
    store.subscribe(["run", "step"], ({ run, step }) => scrubber.update(run.snapshots, step));
    store.subscribe(["run", "step", "place", "moment", "values", "theme", "without", "sizes"], (shown) =>
      this.showHeads(shown),
    );
    store.subscribe(["place", "moment", "values", "hovered"], ({ values, hovered }) => this.read(values.pin, hovered));
  }

  showHeads({ run: { kinds }, place, step, moment, theme, values, without }: Omit<HeadsShown, "hovered" | "sizes">) {
    const several = kinds.length > 1;
    const name = `Attention of ${placeName(place, several)}${otherStep(moment, step)}`;
    setText(this.title, kinds.length ? name : "No attention");
    if (!moment || !kinds.length) {
      this.guessLine.show(null, [], "");
      return;
    }
    const alt = pictureText(place, moment.step, several);
    const covered = values.predict ? values.pin.q : null;
    this.heads.update({ kinds, moment, place, alt, pin: values.pin, covered, theme, without });
    this.large.dataset.step = String(moment.step);
    this.of = [place.kind, place.layer, place.head, moment];
    this.sayGuess();
  }

  /** Says which row is covered, and how good the guesses were. */
  sayGuess() {
    const { guess, kind } = this.heads;
    const words = { row: "", column: (j: number) => `column ${j} (${quoted(kind?.key[j] ?? "")})` };
    if (guess) words.row = `Row ${guess.row}, ${quoted(kind?.query[guess.row] ?? "")}`;
    this.guessLine.show(guess && judged(guess, this.heads.rowOf(guess.row), words), this.of, "");
  }

  /** Writes the weight of the cell that is pointed at or pinned. */
  read(pin: Pair, hovered: Pair) {
    const { kind, guess } = this.heads;
    const at = hovered.q === null ? pin : hovered;
    const isThere = kind && at.q !== null && at.k !== null && at.q < kind.rows && at.k < kind.cols;
    delete this.reading.dataset.value;
    if (isThere && at.q !== null && at.k !== null && guess?.covers(at.q, at.k)) setText(this.reading, COVERED);
    else if (!isThere || at.q === null || at.k === null) setText(this.reading, forPointer(this.hint));
    else {
      const weight = this.heads.weightAt(at.q, at.k);
      this.reading.dataset.value = String(weight);
      setText(this.reading, cellText(kind, at.q, at.k, weight));
    }
  }

  /** Lights what a word names in the large picture. */
  name(target: Target | null) {
    this.heads.pairs.named = target;
    this.heads.light();
    this.store.set({ hovered: { q: target?.row ?? null, k: target?.column ?? null } });
  }

  /** What is lit in the large picture. */
  lit(): LitNow {
    const [, layer, head] = this.of;
    const chosen = this.of.length ? ([layer, head] as HeadId) : null;
    return { ...this.heads.lit, chosen };
  }

  destroy() {
    this.heads.destroy();
  }
}
