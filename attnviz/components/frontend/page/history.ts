// Makes each user action one entry in the browser's history. At a change of page Streamlit creates two entries: one
// for the page, then one for its link; or, when rendering is slow, first one for the new link under the old page. Going
// back would then open a view that was never shown. Actions before the answer to the first one share its entry.

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
