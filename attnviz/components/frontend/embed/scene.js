// The scenes of a lesson as a static site: the keys that go through them, and the question that a scene may begin with.

import { isShortcut, pressed } from "../core/keys.js";

const RELATIONS = { ArrowRight: "next", PageDown: "next", ArrowLeft: "prev", PageUp: "prev" };

const MOVES_INSIDE = ".attnviz-board, .attnviz-lines, [role=grid]"; // what arrow keys go through while it has the focus

/** Whether a picture answers an arrow key itself. @param {KeyboardEvent} event */
const isForPicture = (event) =>
  event.key.startsWith("Arrow") &&
  event.composedPath().some((one) => one instanceof Element && one.matches(MOVES_INSIDE));

export class Scene {
  /** `reveal()` uncovers what the question asks for. @param {() => void} [reveal] */
  constructor(reveal = () => {}) {
    this.reveal = reveal;
    this.question = /** @type {HTMLElement | null} */ (document.querySelector(".attnviz-question"));
    this.sentence = /** @type {HTMLElement | null} */ (document.querySelector(".attnviz-sentence"));
    this.question?.querySelector("button")?.addEventListener("click", () => this.reveal());
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
    if (!isShortcut(event) || !(pressed(event) in RELATIONS) || isForPicture(event)) return;
    const relation = RELATIONS[/** @type {keyof typeof RELATIONS} */ (pressed(event))];
    const link = document.querySelector(`.attnviz-scene a[rel=${relation}]`);
    if (!document.querySelector(".attnviz-scene")) return;
    event.preventDefault();
    if (event.repeat) return;
    if (relation === "next" && this.question?.hidden === false) this.reveal();
    else if (link instanceof HTMLElement) link.click();
  }
}
