// The side bar, where it lies over the page as a drawer: it closes after a choice and after a tap beside it, and it is
// closed at first in a low window.

import { clickOn } from "../core/dom.ts";

const DRAWER = matchMedia("(max-width: 768px)"); // Streamlit's own limit
const LOW = matchMedia("(max-height: 520px)");
const SIDE_BAR = "[data-testid=stSidebar]";
/** What is chosen at once: a page, one of a few, an example, an entry of a list. Another slider may follow one. */
const CHOICES = [
  `${SIDE_BAR} [data-testid=stSidebarNavLink]`,
  `${SIDE_BAR} [data-testid=stButtonGroup] button:not(.stTooltipIcon *)`,
  ".st-key-surprise button",
  "[class*=st-key-example_] button",
  "[role=option]",
].join();
const SETTLED = 250; // ms after which Streamlit has sent the choice

export function followDrawer(signal: AbortSignal) {
  document.addEventListener("click", (event) => clicked(event), { signal, capture: true });
  if (LOW.matches && !DRAWER.matches) close();
}

function clicked({ target }: MouseEvent) {
  if (!DRAWER.matches || !(target instanceof Element) || !isOpen()) return;
  const isBeside = target.closest("[data-testid=stMain]") !== null;
  if (isBeside || target.closest(CHOICES)) setTimeout(close, isBeside ? 0 : SETTLED);
}

const isOpen = () => document.querySelector(SIDE_BAR)?.getAttribute("data-collapsed") === "false";

const close = () => isOpen() && clickOn(`${SIDE_BAR} [data-testid=stSidebarCollapseButton] button`);
