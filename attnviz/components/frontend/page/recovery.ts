// Loads the page again when Streamlit has lost it: what a run of one page still sends can arrive in the page that comes
// next, and an error in Streamlit's drawing takes away all that is shown. The address holds the view.

import { keep, kept } from "../core/storage.ts";
import { APP } from "../core/streamlit.ts";

const RELOADED = "attnviz-reloaded";
const AGAIN_AFTER = 20_000; // ms

export function reloadWhenLost() {
  window.addEventListener("error", () => setTimeout(reloadIfLost));
}

/** At most once in a while, or a page that fails at once were loaded without end; never where no time can be kept. */
function reloadIfLost() {
  if (document.querySelector(APP) || Date.now() - Number(kept(RELOADED)) < AGAIN_AFTER) return;
  const now = String(Date.now());
  keep(RELOADED, now);
  if (kept(RELOADED) === now) location.reload();
}
