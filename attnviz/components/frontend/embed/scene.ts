// The scenes of a lesson as a static site: the keys that go through them, the question that a scene may begin with, and
// the steps that it may go through before the next scene.

import { isShortcut, pressed } from "../core/keys.ts";

const RELATIONS = { ArrowRight: "next", PageDown: "next", ArrowLeft: "prev", PageUp: "prev" };

const MOVES_INSIDE = ".attnviz-board, .attnviz-lines, [role=grid]"; // what arrow keys go through while it has the focus

/** Whether a picture answers an arrow key itself. */
const isForPicture = (event: KeyboardEvent) =>
  event.key.startsWith("Arrow") &&
  event.composedPath().some((one) => one instanceof Element && one.matches(MOVES_INSIDE));

/** What a scene without a walk does: nothing is covered, and no step follows. */
const STILL = {
  reveal: () => {},
  step: () => "",
  choose: (_step: string) => {},
};

export class Scene {
  does;
  question;
  sentence;
  ways;
  steps: string[];

  /** `reveal` uncovers what the question asks for, `step` is the step that is open, `choose` opens another. */
  constructor(does: { reveal: () => void; step: () => string; choose: (step: string) => void } = STILL) {
    this.does = does;
    this.question = document.querySelector(".attnviz-question") as HTMLElement | null;
    this.sentence = document.querySelector(".attnviz-sentence") as HTMLElement | null;
    this.ways = document.querySelector(".attnviz-scene") as HTMLElement | null;
    this.steps = this.ways?.dataset.steps?.split(" ") ?? [];
    this.question?.querySelector("button")?.addEventListener("click", () => this.does.reveal());
    this.ways?.addEventListener("click", (event) => this.click(event));
    // Before the view, in which the same keys go through the steps.
    window.addEventListener("keydown", (event) => this.key(event), { capture: true });
  }

  /** Shows the question, or the sentence that answers it. */
  ask(isOpen: boolean) {
    if (!this.question || !this.sentence) return;
    this.question.hidden = !isOpen;
    this.sentence.hidden = isOpen;
  }

  key(event: KeyboardEvent) {
    if (!isShortcut(event) || !(pressed(event) in RELATIONS) || isForPicture(event) || !this.ways) return;
    const relation = RELATIONS[pressed(event) as keyof typeof RELATIONS];
    event.preventDefault();
    if (event.repeat) return;
    const link = this.ways.querySelector(`a[rel=${relation}]`);
    if (link instanceof HTMLElement) link.click();
    else this.goes(relation);
  }

  /** A link to the next scene goes on within this one first. */
  click(event: MouseEvent) {
    const { rel = "" } = event.target instanceof HTMLAnchorElement ? event.target : {};
    if (event.ctrlKey || event.metaKey || event.shiftKey || !this.goes(rel)) return;
    event.preventDefault();
  }

  /** Goes on or back within the scene; says whether there was anywhere to go. */
  goes(relation: string) {
    if (relation === "next" && this.question?.hidden === false) {
      this.does.reveal();
      return true;
    }
    const at = this.steps.indexOf(this.does.step());
    const by = { next: 1, prev: -1 }[relation] ?? 0;
    const step = at < 0 || !by ? undefined : this.steps[at + by];
    if (step) this.does.choose(step);
    return step !== undefined;
  }
}
