// A text whose words name parts of a picture, as elements: the marked words are buttons that stand in the line. What
// one names is in its data attributes, as attnviz/lessons/targets.py writes them too.

import { element } from "../core/dom.ts";

export const MARKED = ".marked";
const WHOLE = ["row", "column", "layer", "head"] as const;
const DIGITS = /^\d{1,6}$/;

export const plain = (text: SaidText) => (typeof text === "string" ? text : text.text);

export function nodesOf(text: SaidText): (Node | string)[] {
  if (typeof text === "string") return text ? [text] : [];
  const letters = Array.from(text.text);
  const piece = (from: number, to: number) => letters.slice(from, to).join("");
  const nodes: (Node | string)[] = [];
  let at = 0;
  for (const mark of text.marks) {
    nodes.push(piece(at, mark.from), button(piece(mark.from, mark.to), mark));
    at = mark.to;
  }
  return [...nodes, piece(at, letters.length)];
}

const button = (text: string, { row, column, matrix, part, layer, head }: Target) =>
  marked(element("span", {}, text), { row, column, matrix, part, layer, head });

/** Makes an element a marked word. @param target what it names */
export function marked<T extends HTMLElement>(word: T, target: Partial<Target>) {
  const known = Object.entries(target).filter(([, one]) => one !== null && one !== "");
  word.classList.add("marked");
  word.setAttribute("role", "button");
  word.setAttribute("aria-pressed", "false");
  word.tabIndex = 0;
  Object.assign(word.dataset, Object.fromEntries(known));
  return word;
}

/** What a marked word names. */
export function targetOf({ dataset }: HTMLElement): Target {
  const [row, column, layer, head] = WHOLE.map((name) => {
    const written = dataset[name] ?? "";
    return DIGITS.test(written) ? Number(written) : null;
  });
  return { row, column, layer, head, matrix: dataset.matrix ?? "", part: dataset.part ?? "" };
}
