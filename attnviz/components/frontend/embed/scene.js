// The scenes of a lesson as a static site: the keys that go through them, the question that a scene may begin with, and
// the steps that it may go through before the next scene.

import { isShortcut, pressed } from "../core/keys.js";

const RELATIONS = { ArrowRight: "next", PageDown: "next", ArrowLeft: "prev", PageUp: "prev" };

const MOVES_INSIDE = ".attnviz-board, .attnviz-lines, [role=grid]"; // what arrow keys go through while it has the focus

/** Whether a picture answers an arrow key itself. @param {KeyboardEvent} event */
const isForPicture = (event) =>
  event.key.startsWith("Arrow") &&
  event.composedPath().some((one) => one instanceof Element && one.matches(MOVES_INSIDE));

/** What a scene without a walk does: nothing is covered, and no step follows. */
const STILL = {
  reveal: () => {},
  step: () => "",
  /** @param {string} _step */
  choose: (_step) => {},
};

export class Scene {
  /**
   * `reveal` uncovers what the question asks for, `step` is the step that is open, `choose` opens another.
   * @param {{ reveal: () => void, step: () => string, choose: (step: string) => void }} does
   */
  constructor(does = STILL) {
    this.does = does;
    this.question = /** @type {HTMLElement | null} */ (document.querySelector(".attnviz-question"));
    this.sentence = /** @type {HTMLElement | null} */ (document.querySelector(".attnviz-sentence"));
    this.ways = /** @type {HTMLElement | null} */ (document.querySelector(".attnviz-scene"));
    this.steps = this.ways?.dataset.steps?.split(" ") ?? [];
    this.question?.querySelector("button")?.addEventListener("click", () => this.does.reveal());
    this.ways?.addEventListener("click", (event) => this.click(event));
    // Before the view, in which the same keys go through the steps.
    window.addEventListener("keydown", (event) => this.key(event), { capture: true });
  }

  /** Shows the question, or the sentence that answers it. @param {boolean} isOpen */
  ask(isOpen) {
    if (!this.question || !this.sentence) return;
    this.question.hidden = !isOpen;
    this.sentence.hidden = isOpen;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!isShortcut(event) || !(pressed(event) in RELATIONS) || isForPicture(event) || !this.ways) return;
    const relation = RELATIONS[/** @type {keyof typeof RELATIONS} */ (pressed(event))];
    event.preventDefault();
    if (event.repeat) return;
    const link = this.ways.querySelector(`a[rel=${relation}]`);
    if (link instanceof HTMLElement) link.click();
    else this.goes(relation);
  }

  /** A link to the next scene goes on within this one first. @param {MouseEvent} event */
  click(event) {
    const { rel = "" } = event.target instanceof HTMLAnchorElement ? event.target : {};
    if (event.ctrlKey || event.metaKey || event.shiftKey || !this.goes(rel)) return;
    event.preventDefault();
  }

  /** Goes on or back within the scene; says whether there was anywhere to go. @param {string} relation */
  goes(relation) {
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
