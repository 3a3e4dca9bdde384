// Hints for the pointer that there is.

export const nothingHovers = () => globalThis.matchMedia?.("(hover: none)").matches ?? false;

/**
 * A hint as it stands where nothing can be pointed at: there a tap both shows and pins, and there are no keys.
 * @param hint for a mouse: "Point at a cell to read its weight; a click pins it."
 */
export function forPointer(hint: string, isTouch = nothingHovers()) {
  if (!isTouch) return hint;
  return hint
    .replace(/^Point at/, "Tap")
    .replace(/; a click pins it, and/, ":")
    .replace(/; (a )?click[^.]*/, "")
    .replace(/\b(Click|Hover)\b/g, "Tap")
    .replace(/\b(click|hover)\b/g, "tap");
}
