// A page of its own, from a file or a plain host: it holds one view with its numbers, and asks nobody for anything.
// attnviz/export/web/pages.py writes it.

/** of a page without a view */
const EMPTY: PageSettings = { view: {}, lecture: false, font: "", missing: "", scores: {} };

/** What the page was made with. */
export const settings: PageSettings = { ...EMPTY, ...JSON.parse(textOf("attnviz-settings") || "{}") };

/** Where the view stands. */
export const root = document.getElementById("attnviz-view") as HTMLElement;

/** The numbers of the view. */
export function numbers() {
  const letters = atob(textOf("attnviz-numbers"));
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = letters.charCodeAt(i); // `Uint8Array.from` takes far longer
  return bytes;
}

function textOf(id: string) {
  return document.getElementById(id)?.textContent ?? "";
}

/** Waits for the page's own font: text on a canvas does not load it. */
export async function withFont() {
  await Promise.allSettled(["400 1em", "600 1em"].map((face) => document.fonts.load(`${face} "${settings.font}"`)));
}
