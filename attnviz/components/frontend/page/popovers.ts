// A popover of the page, such as Share or Export, takes the focus when a key or a screen reader opens it, and gives it
// back when it is left or closed. Streamlit puts it at the end of the page, so the Tab key would first pass all that
// lies between. Opened by the pointer it leaves the focus where it is: the keys go on stepping through the picture.

import { POPOVER, POPOVER_BUTTON } from "../core/streamlit.ts";

const WAIT = 2000; // ms, in which a popover opens

export function followPopovers(signal: AbortSignal) {
  const pressed = ({ target, detail }: MouseEvent) => {
    const isByKey = detail === 0;
    const button = isByKey && target instanceof Element ? target.closest<HTMLElement>(POPOVER_BUTTON) : null;
    if (button) whenOpen(button, (popover) => lend(button, popover, signal));
  };
  document.addEventListener("click", pressed, { signal });
}

/** Waits for the popover that a button opens; a button that closes one opens none. */
function whenOpen(button: HTMLElement, then: (popover: HTMLElement) => void) {
  const deadline = performance.now() + WAIT;
  const look = () => {
    const popover = document.querySelector<HTMLElement>(POPOVER);
    if (button.getAttribute("aria-expanded") === "true" && popover) then(popover);
    else if (performance.now() < deadline) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** Gives the focus to a popover until it is left or closed. Streamlit may replace it when its content comes. */
function lend(button: HTMLElement, popover: HTMLElement, signal: AbortSignal) {
  const ends = new AbortController();
  const listening = { signal: AbortSignal.any([signal, ends.signal]), capture: true };
  let shown = popover;
  let byTab = false;
  const take = () => {
    shown.tabIndex = -1;
    shown.focus({ preventScroll: true });
  };
  const isInside = (node: EventTarget | null) => node instanceof Node && shown.contains(node);
  document.addEventListener("keydown", ({ key, target }) => (byTab = key === "Tab" && isInside(target)), listening);
  const left = ({ target, relatedTarget: to }: FocusEvent) => {
    if (byTab && isInside(target) && !isInside(to)) setTimeout(() => button.focus());
  };
  document.addEventListener("focusout", left, listening);
  const closing = new MutationObserver(() => {
    if (shown.isConnected) return;
    const isNowhere = document.activeElement === document.body || document.activeElement === null;
    const next = document.querySelector<HTMLElement>(POPOVER);
    if (next) shown = next;
    else {
      closing.disconnect();
      ends.abort();
    }
    if (isNowhere && next) take();
    else if (isNowhere) button.focus({ preventScroll: true });
  });
  closing.observe(document.body, { childList: true, subtree: true });
  take();
}
