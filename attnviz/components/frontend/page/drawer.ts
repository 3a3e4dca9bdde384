// The side bar, where it lies over the page as a drawer: it closes after a choice and after a tap beside it, and it is
// closed at first in a low window.

import { clickOn } from "../core/dom.ts";
import { CHOICES, CLOSES_SIDE_BAR, MAIN, SIDE_BAR } from "../core/streamlit.ts";

const DRAWER = matchMedia("(max-width: 768px)"); // Streamlit's own limit
const LOW = matchMedia("(max-height: 520px)");
const SETTLED = 250; // ms after which Streamlit has sent the choice

export function followDrawer(signal: AbortSignal) {
  document.addEventListener("click", (event) => clicked(event), { signal, capture: true });
  if (LOW.matches && !DRAWER.matches) close();
}

function clicked({ target }: MouseEvent) {
  if (!DRAWER.matches || !(target instanceof Element) || !isOpen()) return;
  const isBeside = target.closest(MAIN) !== null;
  if (isBeside || target.closest(CHOICES)) setTimeout(close, isBeside ? 0 : SETTLED);
}

const isOpen = () => document.querySelector(SIDE_BAR)?.getAttribute("data-collapsed") === "false";

const close = () => isOpen() && clickOn(CLOSES_SIDE_BAR);
