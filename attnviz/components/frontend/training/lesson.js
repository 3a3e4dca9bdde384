// What an open lesson changes: its bar stands above, and its scenes are gone through with the arrow keys.

const BELOW = 8; // px between the section and the end of the window

/** Whether a key goes from scene to scene in a lesson. @param {KeyboardEvent} event */
export const goesOn = ({ key }) => /^(Arrow|Page)/.test(key);

/** In a lesson, the section ends where the window does. @param {HTMLElement} section @param {boolean} inLesson */
export function fit(section, inLesson) {
  section.classList.toggle("in-lesson", inLesson);
  if (!inLesson) {
    section.style.removeProperty("--training-height");
    return;
  }
  const scrolled = document.querySelector(".stMain")?.scrollTop ?? 0;
  const top = section.getBoundingClientRect().top + scrolled;
  section.style.setProperty("--training-height", `${Math.floor(innerHeight - top - BELOW)}px`);
}
