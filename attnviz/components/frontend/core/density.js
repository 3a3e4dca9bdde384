// Tells when the pixel density changes: the window moves to another screen, or the page is zoomed.

/** @param {() => void} changed @param {AbortSignal} signal ends it */
export function onDensity(changed, signal) {
  const again = () => {
    changed();
    onDensity(changed, signal); // a query is about one density
  };
  matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`).addEventListener("change", again, { once: true, signal });
}
