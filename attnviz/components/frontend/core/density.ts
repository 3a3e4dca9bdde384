// Tells when the pixel density changes: the window moves to another screen, or the page is zoomed.

/** @param signal ends it */
export function onDensity(changed: () => void, signal: AbortSignal) {
  const again = () => {
    changed();
    onDensity(changed, signal); // a query is about one density
  };
  matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`).addEventListener("change", again, { once: true, signal });
}
