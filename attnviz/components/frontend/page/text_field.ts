// The text field of a page: Enter applies the text, Shift+Enter breaks the line, and so does the button beside it.

import { TEXT_APPLY, TEXT_FIELD } from "../core/streamlit.ts";

export function followTextField(signal: AbortSignal) {
  document.addEventListener("keydown", (event) => pressed(event), { signal, capture: true });
  document.addEventListener("click", ({ target }) => clicked(target), { signal });
}

function pressed(event: KeyboardEvent) {
  const { target, key } = event;
  const isPlain = !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing;
  if (key !== "Enter" || !isPlain || !(target instanceof HTMLTextAreaElement) || !target.matches(TEXT_FIELD)) return;
  event.preventDefault();
  event.stopPropagation();
  apply(target);
}

function clicked(target: EventTarget | null) {
  if (!(target instanceof Element) || !target.closest(TEXT_APPLY)) return;
  const field = document.querySelector<HTMLTextAreaElement>(TEXT_FIELD);
  if (!field) return;
  apply(field);
  field.blur(); // a phone's keyboard goes away
}

/** Sends the text by the keys that Streamlit knows. */
const apply = (field: HTMLTextAreaElement) =>
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }));
