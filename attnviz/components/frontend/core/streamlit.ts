// Streamlit's own page around a component. Only this module knows its selectors.

import { bringIntoSight } from "./dom.ts";

const testId = (name: string) => `[data-testid=${name}]`;

/** All that Streamlit shows. */
export const APP = testId("stApp");
/** What scrolls. */
export const MAIN = testId("stMain");
/** What holds all that a page shows. */
export const BLOCK = testId("stMainBlockContainer");
export const SIDE_BAR = testId("stSidebar");
/** Streamlit's own button, which is not seen. */
export const OPENS_SIDE_BAR = testId("stExpandSidebarButton");
export const CLOSES_SIDE_BAR = `${SIDE_BAR} ${testId("stSidebarCollapseButton")} button`;
/** Takes plain keys for itself. */
export const DATA_FRAME = testId("stDataFrame");
/** An open dialog. */
export const DIALOG = "[role=dialog][aria-modal=true]";

const BUTTONS = `${testId("stButtonGroup")} button`;
/** What somebody may have changed: its value or its text says it. */
export const FIELDS = `input, textarea, ${testId("stSelectbox")}, ${BUTTONS}`;
/** What a button opens beside itself, and the button. */
export const POPOVER = testId("stPopoverBody");
export const POPOVER_BUTTON = testId("stPopoverButton");
/** What is chosen at once: one of a few, an entry of a list. Another slider may follow one. */
export const CHOICES = [`${SIDE_BAR} ${BUTTONS}:not(.stTooltipIcon *)`, "[role=option]"].join();

/** The text of a warning. */
export const WARNING = `${MAIN} ${testId("stAlertContentWarning")} p`;

/** The element to which Python gave this key. */
export const keyed = (key: string) => `.st-key-${key}`;
/** The field with the text. */
export const TEXT_FIELD = `${keyed("text")} textarea`;
/** The button beside it. */
export const TEXT_APPLY = `${keyed("text_tools")} .apply`;
/** The button "Settings" of the toolbar, which opens and closes the side bar. */
export const SETTINGS = `${keyed("toolbar")} .settings`;
/** A button or a link with this key. */
export const buttonOf = (key: string) => `${keyed(key)} :is(.stButton button, .stPageLink a)`;

const PLACES = keyed("places");
const PAGE_LINK = ".stPageLink a";

/** The links of the bar with the places and chapters. */
export const pageLinks = (): NodeListOf<HTMLAnchorElement> => document.querySelectorAll(`${PLACES} ${PAGE_LINK}`);

/** Whether a click leads to another page. */
export const isToPage = ({ target }: Event) => target instanceof Element && Boolean(target.closest(PAGE_LINK));

/** Tells screen readers what the bar with the places is, and what is open in it; what has been opened is in sight. */
export function describePlaces() {
  const bar = document.querySelector(PLACES);
  bar?.setAttribute("role", "navigation");
  bar?.setAttribute("aria-label", "Places and chapters");
  for (const entry of bar?.querySelectorAll("a, button") ?? []) {
    const kind = entry.closest(keyed("chapter_list")) ? "page" : "true";
    const isNew = !entry.hasAttribute("aria-current");
    if (!entry.querySelector("strong")) entry.removeAttribute("aria-current");
    else entry.setAttribute("aria-current", kind);
    const row = entry.closest(".stHorizontalBlock");
    if (row && isNew && entry.hasAttribute("aria-current")) bringIntoSight(entry, row);
  }
}

/** How far the page is scrolled, px; outside of the app, the document. */
export const scrolled = () => (document.querySelector(MAIN) ?? document.documentElement).scrollTop;
