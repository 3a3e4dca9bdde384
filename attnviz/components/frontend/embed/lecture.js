// Lecture mode of a page of its own: larger type. The key L switches it, and "#lecture=1" begins with it.

import { isShortcut, pressed } from "../core/keys.js";
import { isLecture, write } from "./link.js";

/** Applies the mode, now and when it or the address changes, and says so. @param {() => void} changed */
export function followLecture(changed) {
  const apply = () => {
    document.documentElement.classList.toggle("lecture", isLecture());
    for (const link of document.querySelectorAll(".attnviz-scene a, .attnviz-scenes a")) {
      if (link instanceof HTMLAnchorElement) link.hash = isLecture() ? "lecture=1" : "";
    }
    changed();
  };
  apply();
  window.addEventListener("hashchange", apply);
  document.addEventListener("keydown", (event) => {
    if (!isShortcut(event) || pressed(event) !== "l") return;
    write({ lecture: !isLecture() });
    apply();
  });
}
