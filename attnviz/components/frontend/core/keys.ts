// Keys as text, and whether they are typed into something.

import { DATA_FRAME, DIALOG } from "./streamlit.ts";

/** The event of a shortcut of the page, which a component may handle without a request to the server. */
export const ACT = "attnviz-act";

const TYPING =
  "input:not([type=checkbox], [type=radio], [type=button]), textarea, select, dialog[open], [contenteditable], " +
  `[role=dialog], [role=listbox], [role=combobox], [role=slider], ${DATA_FRAME}`;

/** What is pressed, whatever the state of Caps Lock: "h", "Shift+h", "PageDown", "?". */
export function pressed({ key, shiftKey }: { key: string; shiftKey: boolean }) {
  const letter = key.length === 1 && key.toLowerCase() !== key.toUpperCase();
  return letter ? `${shiftKey ? "Shift+" : ""}${key.toLowerCase()}` : key;
}

/** Whether a key press is a shortcut that nothing has answered yet. */
export function isShortcut(event: KeyboardEvent) {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return false;
  if (event.composedPath().some((one) => one instanceof Element && one.matches(TYPING))) return false;
  return !document.querySelector(DIALOG);
}
