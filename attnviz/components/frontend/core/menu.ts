// A button behind which is what is rarely chosen. It opens and closes as a disclosure; Escape, a click elsewhere and
// the focus that leaves it close it.

import { element } from "./dom.ts";

/** @param label what the button says to screen readers and as a hint @param content what is behind it */
export function makeMenu(label: string, ...content: Node[]) {
  const button = element("summary", { "aria-label": label, title: label }, "⋯");
  // It takes the focus of a press between the buttons in it, so that the menu stays open.
  const root = element("details", { class: "menu" }, button, element("div", { tabIndex: -1 }, ...content));
  // Not every browser gives the button that is clicked the focus, which could then leave it.
  const closing = new AbortController();
  const clicked = (event: Event) => {
    if (!event.composedPath().includes(root)) root.open = false;
  };
  document.addEventListener("pointerdown", clicked, { signal: closing.signal });
  root.addEventListener("focusout", ({ relatedTarget }) => {
    if (!root.contains(relatedTarget as Node | null)) root.open = false;
  });
  root.addEventListener("click", ({ detail, target }) => {
    if (detail > 0 && target instanceof Element && target.closest("button")) root.open = false;
  });
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !root.open) return;
    root.open = false;
    button.focus();
    event.preventDefault(); // it would also release the pin
    event.stopPropagation();
  });
  return { root, destroy: () => closing.abort() };
}
