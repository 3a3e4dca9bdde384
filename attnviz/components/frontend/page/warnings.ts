// Warnings of the page take one line, so that they don't move the picture. What is longer ends in "details": a press or
// Enter shows it whole, over what lies below. The style sheet of all pages cuts it and writes the word.

import { WARNING } from "../core/streamlit.ts";

const OPEN = "aria-expanded";
const CUT = `p[${OPEN}]`;

export function followWarnings(signal: AbortSignal) {
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) if (target instanceof HTMLElement) look(target);
  });
  const find = () => {
    for (const text of document.querySelectorAll(WARNING)) sizes.observe(text);
  };
  const changes = new MutationObserver(find);
  changes.observe(document.body, { childList: true, subtree: true });
  find();
  document.addEventListener("click", ({ target }) => turn(target), { signal });
  document.addEventListener("keydown", (event) => pressed(event), { signal, capture: true });
  signal.addEventListener("abort", () => {
    changes.disconnect();
    sizes.disconnect();
  });
}

/** A warning that is cut is a button. */
function look(warning: HTMLElement) {
  if (warning.getAttribute(OPEN) === "true") return;
  const isCut = warning.scrollWidth > warning.clientWidth;
  const attributes = { role: "button", tabindex: "0", [OPEN]: "false" };
  for (const [name, value] of Object.entries(attributes)) {
    if (isCut) warning.setAttribute(name, value);
    else warning.removeAttribute(name);
  }
}

/** The word "details" is of the element around the text. */
function turn(target: EventTarget | null) {
  const warning = target instanceof Element && (target.closest(CUT) ?? target.querySelector(`:scope > ${CUT}`));
  if (warning) warning.setAttribute(OPEN, String(warning.getAttribute(OPEN) === "false"));
}

function pressed(event: KeyboardEvent) {
  const { target, key } = event;
  if (!["Enter", " "].includes(key) || !(target instanceof Element) || !target.matches(CUT)) return;
  event.preventDefault();
  event.stopPropagation();
  turn(target);
}
