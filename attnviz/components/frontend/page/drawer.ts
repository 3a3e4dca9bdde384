// The side bar with the settings: the button "Settings" opens and closes it. Where it lies over the page as a drawer, a
// choice and a tap beside it close it too. Opened by a key it takes the focus, and gives it back.

import { clickOn, perFrame } from "../core/dom.ts";
import { CHOICES, CLOSES_SIDE_BAR, MAIN, OPENS_SIDE_BAR, SETTINGS, SIDE_BAR } from "../core/streamlit.ts";

const DRAWER = matchMedia("(max-width: 768px)"); // Streamlit's own limit
const SETTLED = 250; // ms after which Streamlit has sent the choice
const STATE = "data-collapsed"; // Streamlit's attribute of the side bar
const ALERT = `${SIDE_BAR} [data-testid=stAlert]`;
const PRESSED = "button, summary, a, input, textarea, select, [role=combobox]";

export function followDrawer(signal: AbortSignal) {
  document.addEventListener("click", (event) => clicked(event), { signal, capture: true });
  const changes = new MutationObserver(perFrame(describe));
  changes.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: [STATE] });
  signal.addEventListener("abort", () => changes.disconnect());
  describe();
}

/** Says of the button whether the side bar is open; a page without settings has no button. */
function describe() {
  const button = document.querySelector<HTMLElement>(SETTINGS);
  if (!button) return;
  const says = String(isOpen());
  if (button.ariaExpanded !== says) button.ariaExpanded = says;
  button.hidden = document.querySelector(SIDE_BAR) === null;
  showAlert();
}

let alertShown = "";
let closing: ReturnType<typeof setTimeout> | undefined;

const alertText = () => document.querySelector(ALERT)?.textContent ?? "";

/**
 * Opens the side bar, once, where it says that something can't be shown, and keeps a choice from closing it then:
 * closed, nobody would read it.
 */
function showAlert() {
  const alert = alertText();
  if (!alert || alert === alertShown || !document.querySelector(SETTINGS)?.checkVisibility()) return; // in a lecture
  alertShown = alert;
  clearTimeout(closing);
  if (!isOpen()) clickOn(OPENS_SIDE_BAR);
}

function clicked({ target, detail, isTrusted }: MouseEvent) {
  if (!(target instanceof Element)) return;
  const isByKey = detail === 0;
  if (target.closest(SETTINGS)) {
    toggle(isByKey);
    return;
  }
  if (!isOpen()) return;
  if (isByKey && isTrusted && target.closest(CLOSES_SIDE_BAR)) focusOn(SETTINGS);
  if (!DRAWER.matches) return;
  if (target.closest(MAIN)) setTimeout(close);
  else if (target.closest(CHOICES)) closeAfterChoice();
}

/** Closes the side bar once the choice is sent. A message that follows is new, even if the same was shown before. */
function closeAfterChoice() {
  alertShown = alertText();
  clearTimeout(closing);
  closing = setTimeout(close, SETTLED);
}

function toggle(isByKey: boolean) {
  if (isOpen()) close();
  else {
    clickOn(OPENS_SIDE_BAR);
    if (isByKey) setTimeout(() => focusOn(`${SIDE_BAR} :is(${PRESSED})`), SETTLED);
  }
}

/** The first that can be seen: Streamlit's own button shows only under the mouse. */
const focusOn = (css: string) =>
  [...document.querySelectorAll<HTMLElement>(css)]
    .find((target) => target.checkVisibility({ visibilityProperty: true }))
    ?.focus();

const isOpen = () => document.querySelector(SIDE_BAR)?.getAttribute(STATE) === "false";

const close = () => isOpen() && clickOn(CLOSES_SIDE_BAR);
