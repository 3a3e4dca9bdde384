// The scenes of a lesson as a static site: the keys that go through them, and the question that a scene may begin with.

import { isShortcut, pressed } from "../core/keys.js";

const RELATIONS = { PageDown: "next", PageUp: "prev" };

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
    if (!isShortcut(event) || !(pressed(event) in RELATIONS)) return;
    const relation = RELATIONS[/** @type {keyof typeof RELATIONS} */ (pressed(event))];
    const link = document.querySelector(`.attnviz-scene a[rel=${relation}]`);
    if (!document.querySelector(".attnviz-scene")) return;
    event.preventDefault();
    if (event.repeat) return;
    if (relation === "next" && this.question?.hidden === false) this.reveal();
    else if (link instanceof HTMLElement) link.click();
  }
}
