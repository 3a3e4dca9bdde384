// A text whose words name parts of a picture, as elements: the marked words are buttons that stand in the line. What
// one names is in its data attributes, as attnviz/lessons/targets.py writes them too.

import { element } from "../core/dom.js";

export const MARKED = ".marked";
const WHOLE = /** @type {const} */ (["row", "column", "layer", "head"]);
const DIGITS = /^\d{1,6}$/;

/** @param {SaidText} text */
export const plain = (text) => (typeof text === "string" ? text : text.text);

/** @param {SaidText} text @returns {(Node | string)[]} */
export function nodesOf(text) {
  if (typeof text === "string") return text ? [text] : [];
  const letters = Array.from(text.text);
  const piece = (/** @type {number} */ from, /** @type {number} */ to) => letters.slice(from, to).join("");
  /** @type {(Node | string)[]} */
  const nodes = [];
  let at = 0;
  for (const mark of text.marks) {
    nodes.push(piece(at, mark.from), button(piece(mark.from, mark.to), mark));
    at = mark.to;
  }
  return [...nodes, piece(at, letters.length)];
}

/** @param {string} text @param {Target} target */
const button = (text, { row, column, matrix, part, layer, head }) =>
  marked(element("span", {}, text), { row, column, matrix, part, layer, head });

/**
 * Makes an element a marked word.
 * @template {HTMLElement} T
 * @param {T} word @param {Partial<Target>} target what it names
 */
export function marked(word, target) {
  const known = Object.entries(target).filter(([, one]) => one !== null && one !== "");
  word.classList.add("marked");
  word.setAttribute("role", "button");
  word.setAttribute("aria-pressed", "false");
  word.tabIndex = 0;
  Object.assign(word.dataset, Object.fromEntries(known));
  return word;
}

/** What a marked word names. @param {HTMLElement} word @returns {Target} */
export function targetOf({ dataset }) {
  const [row, column, layer, head] = WHOLE.map((name) => {
    const written = dataset[name] ?? "";
    return DIGITS.test(written) ? Number(written) : null;
  });
  return { row, column, layer, head, matrix: dataset.matrix ?? "", part: dataset.part ?? "" };
}
