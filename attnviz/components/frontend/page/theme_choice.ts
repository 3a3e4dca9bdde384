// The theme that the user chose, which Streamlit keeps in the browser's storage, one entry per path.

import { PAGE_PATHS } from "../core/constants.ts";

const VERSION = 2; // of what Streamlit stores

export const themeKey = (path: string) => `stActiveTheme-${path}-v${VERSION}`;

/** The paths of all pages, with the path at which the app is served, and this one. */
export function allPaths() {
  const here = location.pathname;
  const base = here.slice(0, here.lastIndexOf("/") + 1);
  return new Set([here, ...PAGE_PATHS.map((path) => base + path)]);
}
