// Parts of the page that are no matrices, which words of a lesson name: a curve, a row of a table, a text. They carry
// their names in `data-item`, or as Streamlit's keys, wherever they stand: also inside of components.

import { keyed } from "../core/streamlit.ts";

/** How an element is lit: marks.css says it. */
const LIT = "data-lit-item";
const NAME = /^[\w.-]+$/;
const NUMBER = /−?\d[\d,]*(?:\.\d+)?/g;

/** Where the components of the page stand. */
export const components = () =>
  [...document.querySelectorAll(".attnviz-isolated")].flatMap(({ shadowRoot }) => shadowRoot ?? []);

const LIT_IN_PICTURES = '[data-shape]:is([data-state="hovered"], [data-state="pinned"])';

/** What is lit in the pictures of the page. @param matrix in which matrix, or "" for any */
export const litIn = (matrix: string) =>
  [document, ...components()]
    .flatMap((root) => [...root.querySelectorAll(LIT_IN_PICTURES)])
    .filter((one) => !matrix || one.getAttribute("data-panel") === matrix);

/** The elements of the page that have a name, those that are seen. */
export function itemsOf(name: string): Element[] {
  if (!NAME.test(name)) return [];
  const css = `[data-item~="${name}"]:not(.marked), ${keyed(name.replaceAll(".", "\\."))}`;
  return [document, ...components()]
    .flatMap((root) => [...root.querySelectorAll(css)])
    .filter((one) => one.checkVisibility());
}

/** The smallest parts of items whose texts have these words, and curves; where no text has them, the items. */
export function partsNamed(items: Element[], words: string): Element[] {
  const curves = items.filter(isCurve);
  const inside = items.flatMap((item) => (isCurve(item) ? [] : (smallest(item, words) ?? [])));
  return inside.length ? [...inside, ...curves] : items;
}

const isCurve = (item: Element) => item.tagName === "path";

function smallest(within: Element, words: string): Element | null {
  const own = (one: Element) => [...one.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
  const texts = (one: Element) => own(one).map(({ textContent }) => textContent ?? "");
  const all = [within, ...within.querySelectorAll("*")];
  return all.find((one) => texts(one).some((text) => says(text, words))) ?? null;
}

/** Whether a text has the words, or the one number that they are, with the same digits or with more. */
export function says(text: string, words: string) {
  if (words.length > 1 && text.includes(words) && !/^[\d−]/.test(words)) return true;
  const [wanted, ...others] = numbersIn(words);
  if (wanted === undefined || others.length || words.replace(NUMBER, "").trim().length > 1) return false;
  const digits = wanted.split(".")[1]?.length ?? 0;
  return numbersIn(text).some((one) => valueOf(one).toFixed(digits) === valueOf(wanted).toFixed(digits));
}

const numbersIn = (text: string) => text.match(NUMBER) ?? [];

const valueOf = (written: string) => Number(written.replaceAll(",", "").replace("−", "-"));

/** Lights what a word names; the one before goes dark. */
export class ItemLight {
  lit: Element[] = [];

  /** @param name "" for nothing */
  show(name: string, words: string) {
    const named = name ? partsNamed(itemsOf(name), words) : [];
    for (const one of this.lit) if (!named.includes(one)) one.removeAttribute(LIT);
    for (const one of named) one.setAttribute(LIT, "");
    this.lit = named;
  }
}
