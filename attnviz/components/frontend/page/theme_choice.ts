// The theme that the user chose, which Streamlit keeps in the browser's storage, one entry per path.

import { pageLinks } from "../core/streamlit.ts";

const VERSION = 2; // of what Streamlit stores

export const themeKey = (path: string) => `stActiveTheme-${path}-v${VERSION}`;

/** The paths of all pages that the navigation links to, and this one. */
export function allPaths() {
  return new Set([location.pathname, ...Array.from(pageLinks(), (link) => new URL(link.href).pathname)]);
}
