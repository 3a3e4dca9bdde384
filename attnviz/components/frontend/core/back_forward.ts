// Back, Forward and the like.

/**
 * Calls `went` when the browser's history has opened another address of the app. A jump within the page, to what the
 * part after "#" names, opens no other view. Only the Navigation API says which navigation is a jump; in a browser
 * without it, `went` is called after a jump too.
 */
export function followHistory(went: () => void, signal: AbortSignal) {
  let isJump = false;
  const { navigation } = window as { navigation?: Navigation };
  navigation?.addEventListener("navigate", ({ hashChange }) => (isJump = hashChange), { signal });
  window.addEventListener("popstate", () => isJump || went(), { signal });
}
