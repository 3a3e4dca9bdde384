// One entry of the browser's history for what one press leads to. Streamlit makes two of a change of page: one for the
// page, then one for its link; or, where it is slow to draw, first one for the new link under the old page. Whoever
// goes back from there comes to a view that nobody has seen. Presses that come before the answer to the first share its
// entry.

const PRESSES = ["pointerdown", "click", "keydown", "input", "drop"];
let watched = false;

/** Lets the first address after a press be an entry of its own; those that follow take its place. */
export function oneEntryEach() {
  if (watched) return;
  watched = true;
  let pressed = true; // perhaps before anybody listened
  for (const kind of PRESSES) window.addEventListener(kind, () => (pressed = true), true);
  window.addEventListener("popstate", () => (pressed = false), true); // the keys that led there are no press
  const push = history.pushState;
  history.pushState = (...entry) => {
    (pressed ? push : history.replaceState).apply(history, entry);
    pressed = false;
  };
}
