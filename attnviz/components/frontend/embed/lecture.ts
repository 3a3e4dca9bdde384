// Lecture mode of a page of its own: larger type, a black screen, a timer. The key L switches it, and "#lecture=1"
// begins with it.

import { Hall } from "../core/hall.ts";
import { isShortcut, pressed } from "../core/keys.ts";
import { isLecture, write } from "./link.ts";

/** Applies the mode, now and when it or the address changes, and says so. */
export function followLecture(changed: () => void) {
  const hall = new Hall(document.body);
  const apply = () => {
    document.documentElement.classList.toggle("lecture", isLecture());
    hall.set(isLecture());
    for (const link of document.querySelectorAll(".attnviz-scene a, .attnviz-scenes a")) {
      if (link instanceof HTMLAnchorElement) link.hash = isLecture() ? "lecture=1" : "";
    }
    changed();
  };
  apply();
  window.addEventListener("hashchange", apply);
  const acts: Record<string, () => void> = {
    b: hall.acts.black,
    "Shift+f": hall.acts.fullscreen,
    "Shift+t": hall.acts.timer,
  };
  document.addEventListener("keydown", (event) => {
    if (!isShortcut(event)) return;
    if (isLecture()) acts[pressed(event)]?.();
    if (pressed(event) !== "l") return;
    write({ lecture: !isLecture() });
    apply();
  });
}
