// Finds the pictures on the page. Each component sets an object on its picture's element:
//   element.attnvizPicture = { name, ready, paint(pen, { theme }), prepare?(theme) -> Promise }

/**
 * The pictures that can be seen: [{name, element, picture}], in the order of the page.
 * @returns {FoundPicture[]}
 */
export function findPictures() {
  return [...elements(document)].flatMap((element) => {
    const picture = element.attnvizPicture;
    if (!picture || !element.checkVisibility({ visibilityProperty: true })) return [];
    const { width, height } = element.getBoundingClientRect();
    return width && height && picture.ready ? [{ name: picture.name, element, picture }] : [];
  });
}

/** @param {Document | ShadowRoot} root @returns {Generator<HTMLElement>} */
function* elements(root) {
  for (const element of root.querySelectorAll("*")) {
    if (element instanceof HTMLElement) yield element;
    if (element.shadowRoot) yield* elements(element.shadowRoot);
  }
}
