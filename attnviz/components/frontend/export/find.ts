// Finds the pictures on the page. Each component sets an object on its picture's element:
//   element.attnvizPicture = { name, ready, paint(pen, { theme }), prepare?(theme) -> Promise, tokens?() }
// one with the attribute data-tokens holds chips (chips.ts), one with data-drawn is drawn in HTML (drawn.ts), and one
// that says the arithmetic of the pinned cell has
//   element.attnvizPinned = () => string

import { chipsPicture } from "./chips.ts";
import { drawnPicture } from "./drawn.ts";

/** The pictures that can be seen: [{name, element, picture}], in the order of the page. */
export function findPictures(): FoundPicture[] {
  return [...elements(document)].flatMap((element) => {
    const picture = pictureOf(element);
    if (!picture || !element.checkVisibility({ visibilityProperty: true })) return [];
    const { width, height } = element.getBoundingClientRect();
    return width && height && picture.ready ? [{ name: picture.name, element, picture }] : [];
  });
}

function pictureOf(element: HTMLElement): PagePicture | null {
  if (element.attnvizPicture) return element.attnvizPicture;
  if (element.dataset.tokens) return chipsPicture(element);
  return element.dataset.drawn ? drawnPicture(element) : null;
}

/** The arithmetic of the cell that is pinned on the page, "" where none is. */
export function findPinned() {
  for (const element of elements(document)) {
    const said = element.checkVisibility() ? element.attnvizPinned?.() : "";
    if (said) return said;
  }
  return "";
}

function* elements(root: Document | ShadowRoot): Generator<HTMLElement> {
  for (const element of root.querySelectorAll("*")) {
    if (element instanceof HTMLElement) yield element;
    if (element.shadowRoot) yield* elements(element.shadowRoot);
  }
}
