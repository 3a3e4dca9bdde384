// Text sizes in pictures. In lecture mode the page sets --least-type, the minimum text size in rem, on its root;
// lengths that hold text grow with it.

/** The smallest type that may be on the screen, in px: 0 where the page asks for none. */
export function leastType() {
  const root = getComputedStyle(document.documentElement);
  return (Number(root.getPropertyValue("--least-type")) || 0) * parseFloat(root.fontSize);
}

/**
 * The sizes of type for a least one: `unit` is what lengths that hold labels are multiplied by, so that a label of
 * `label` px becomes `least` px; `fine` is the size of what is written smaller than labels.
 */
export function typeFor(least = 0, { label = 12, fine = 11 }: { label?: number; fine?: number } = {}): TypeSizes {
  const unit = Math.max(1, least / label);
  return { least, unit, label: label * unit, fine: Math.max(fine, least) };
}

/** Measures texts in a font, and caches the widths. */
export function measurer(context: CanvasRenderingContext2D, font: string): WidthOf {
  const known: Map<string, number> = new Map();
  return (text) => {
    const width = known.get(text);
    if (width !== undefined) return width;
    context.font = font;
    const measured = context.measureText(text).width;
    known.set(text, measured);
    return measured;
  };
}
