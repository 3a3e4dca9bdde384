// What an open lesson changes: its bar stands above, and its scenes are gone through with the arrow keys.

import { scrolled } from "../core/streamlit.ts";

const BELOW = 8; // px between the section and the end of the window

/** Whether a key goes from scene to scene in a lesson. */
export const goesOn = ({ key }: KeyboardEvent) => /^(Arrow|Page)/.test(key);

/** In a lesson, the section ends where the window does. */
export function fit(section: HTMLElement, inLesson: boolean) {
  section.classList.toggle("in-lesson", inLesson);
  if (!inLesson) {
    section.style.removeProperty("--training-height");
    return;
  }
  const top = section.getBoundingClientRect().top + scrolled();
  section.style.setProperty("--training-height", `${Math.floor(innerHeight - top - BELOW)}px`);
}
