// Where Streamlit keeps the theme that somebody chose: in the browser's storage, once for each path that was opened.

const VERSION = 2; // of what Streamlit stores

export const themeKey = (path) => `stActiveTheme-${path}-v${VERSION}`;

/** The paths of all pages that the navigation links to, and this one. */
export function allPaths() {
  const links = [...document.querySelectorAll("[data-testid=stTopNavLink], [data-testid=stSidebarNavLink]")];
  return new Set([location.pathname, ...links.map((link) => new URL(link.href).pathname)]);
}
