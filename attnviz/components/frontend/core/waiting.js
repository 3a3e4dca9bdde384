// The order of messages to the server: a component may wait with what it has to say until something else is sent.
// Streamlit makes one message of what is sent at once, and then runs only the part of the page that the first of it is
// about. So what waits is sent first, and the rest afterwards.

const SENDS = "attnviz-sends"; // the event before a component sends something
const TOUCHES = ["pointerdown", "focusin"]; // before a widget of Streamlit's own sends something

/** Does something that sends a message, after what waits. @param {() => void} send */
export function afterWaiting(send) {
  if (window.dispatchEvent(new CustomEvent(SENDS, { cancelable: true }))) send();
  else setTimeout(send);
}

/**
 * Has what waits sent before anything outside of `root` sends something.
 * @param {() => boolean} flush sends what waits, and returns whether there was anything
 * @param {Node} root @param {AbortSignal} signal
 */
export function beforeOthers(flush, root, signal) {
  let isOnItsWay = false;
  const sendFirst = () => {
    if (!flush()) return isOnItsWay;
    isOnItsWay = true;
    setTimeout(() => (isOnItsWay = false));
    return true;
  };
  /** @param {Event} event */
  const isOutside = (event) => !event.composedPath().includes(root);
  window.addEventListener(SENDS, (event) => sendFirst() && event.preventDefault(), { signal });
  for (const kind of TOUCHES) {
    document.addEventListener(kind, (event) => isOutside(event) && sendFirst(), { signal, capture: true });
  }
  /** @param {MouseEvent} click */
  const hold = (click) => {
    if (!isOutside(click) || !sendFirst()) return;
    const [target] = click.composedPath();
    click.preventDefault();
    click.stopImmediatePropagation();
    setTimeout(() => target.dispatchEvent(new MouseEvent("click", click)));
  };
  document.addEventListener("click", hold, { signal, capture: true });
}
