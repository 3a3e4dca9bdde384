// The order of messages to the server: a component may wait with what it has to say until something else is sent.
// Streamlit makes one message of what is sent at once, and then runs only the part of the page that the first of it is
// about. So what waits is sent first, and the rest afterwards.

import { CLOSES_SIDE_BAR, OPENS_SIDE_BAR, SETTINGS } from "./streamlit.ts";

const SENDS = "attnviz-sends"; // the event before a component sends something
const ARRIVES = "attnviz-arrives"; // the event before an action that may not meet what waits on its way
const TOUCHES = ["pointerdown", "focusin"]; // before a widget of Streamlit's own sends something
const OF_DRAWER = [SETTINGS, OPENS_SIDE_BAR, CLOSES_SIDE_BAR].join();

/** Does something that sends a message, after what waits. */
export function afterWaiting(send: () => void) {
  if (window.dispatchEvent(new CustomEvent(SENDS, { cancelable: true }))) send();
  else setTimeout(send);
}

/**
 * Does something that sends a message about the whole page, once the server has what waits. Streamlit makes one run of
 * two messages that meet before it has begun, and can lose one of them.
 */
export function afterArrival(send: () => void) {
  const arriving: Promise<void>[] = [];
  window.dispatchEvent(new CustomEvent(ARRIVES, { detail: arriving }));
  if (arriving.length) Promise.allSettled(arriving).then(send);
  else send();
}

/** Our own dialogs close at once, and what is chosen in them is sent after what waits. */
const isInDialog = (event: Event) => event.composedPath().some((one) => one instanceof HTMLDialogElement);

/**
 * Has what waits sent before anything outside of `root` sends something.
 * @param flush sends what waits, and returns whether there was anything
 * @param beside fields of the same part of the page: what waits is sent with what is typed there
 * @param arrives resolves when the server has what was sent; null if it has all
 */
export function beforeOthers(
  flush: () => boolean,
  root: Node,
  signal: AbortSignal,
  beside = "",
  arrives: () => Promise<void> | null = () => null,
) {
  let isOnItsWay = false;
  /** clicks that were held */
  const held: WeakSet<Event> = new WeakSet();
  const sendFirst = () => {
    if (!flush()) return isOnItsWay;
    isOnItsWay = true;
    setTimeout(() => (isOnItsWay = false));
    return true;
  };
  const isBeside = (target: EventTarget | null) => beside !== "" && target instanceof Element && target.matches(beside);
  const isOutside = (event: Event) => !event.composedPath().includes(root);
  window.addEventListener(SENDS, (event) => sendFirst() && event.preventDefault(), { signal });
  const whenArrived = () => {
    const isSent = sendFirst();
    return arrives() ?? (isSent ? new Promise<void>((done) => setTimeout(done)) : null);
  };
  const askedFirst = (event: Event) => {
    const arriving = whenArrived();
    if (arriving) (event as CustomEvent<Promise<void>[]>).detail.push(arriving);
  };
  window.addEventListener(ARRIVES, askedFirst, { signal });
  for (const kind of TOUCHES) {
    // Whoever leaves such a field sends what was typed.
    const waits = ({ target }: Event) => isBeside(target) || isBeside(document.activeElement);
    const touch = (event: Event) => isOutside(event) && !waits(event) && sendFirst();
    document.addEventListener(kind, touch, { signal, capture: true });
  }
  document.addEventListener("focusout", ({ target }) => isBeside(target) && flush(), { signal, capture: true });
  const submit = ({ target, key, ctrlKey, metaKey }: KeyboardEvent) =>
    key === "Enter" && (ctrlKey || metaKey) && isBeside(target) && flush();
  document.addEventListener("keydown", submit, { signal, capture: true });
  // A change of page ends a run that has not begun, and what it was to tell is lost.
  const hold = (click: MouseEvent) => {
    if (!isOutside(click) || isBeside(click.target) || isInDialog(click) || held.has(click)) return;
    if (click.target instanceof Element && click.target.closest(OF_DRAWER)) return; // at most a popover closes
    const arriving = whenArrived();
    if (!arriving) return;
    const [target] = click.composedPath();
    const again = new MouseEvent("click", click);
    held.add(again);
    click.preventDefault();
    click.stopImmediatePropagation();
    arriving.then(() => target.dispatchEvent(again));
  };
  document.addEventListener("click", hold, { signal, capture: true });
}
