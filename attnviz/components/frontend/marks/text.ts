// A text whose words name parts of a picture, as elements: the marked words are buttons that stand in the line. What
// one names is in its data attributes, as attnviz/lessons/targets.py writes them too.

import { element } from "../core/dom.ts";
import { together } from "../core/format.ts";
import { template } from "../core/template.ts";
import type { Child } from "../core/template.ts";

export const MARKED = ".marked";
const WHOLE = ["row", "column", "layer", "head", "step"] as const;
const DIGITS = /^\d{1,6}$/;

export const plain = (text: SaidText) => (typeof text === "string" ? text : text.text);

export function nodesOf(text: SaidText): (Node | string)[] {
  if (typeof text === "string") return text ? [together(text)] : [];
  const letters = Array.from(text.text);
  const piece = (from: number, to: number) => together(letters.slice(from, to).join(""));
  const nodes: (Node | string)[] = [];
  let at = 0;
  for (const mark of text.marks) {
    nodes.push(piece(at, mark.from), button(piece(mark.from, mark.to), mark));
    at = mark.to;
  }
  return [...nodes, piece(at, letters.length)];
}

const button = (text: string, { row, column, matrix, part, layer, head }: PictureTarget) =>
  marked(element("span", {}, text), { row, column, matrix, part, layer, head });

/** Makes an element a marked word. @param target what it names */
export function marked<T extends HTMLElement>(word: T, target: Partial<Target>) {
  const { role, tabIndex, dataset } = marking(target);
  word.classList.add("marked");
  word.setAttribute("aria-pressed", "false");
  Object.assign(word, { role, tabIndex });
  Object.assign(word.dataset, dataset);
  return word;
}

/** A marked word of a template: a node of its own for each target, for who points at it or holds it keeps the node. */
export function markedSpan(className: string, target: Partial<Target>, ...children: Child[]) {
  const looks = { key: JSON.stringify(target), class: `${className} marked`, "aria-pressed": "false" };
  return template("span", { ...looks, ...marking(target) }, ...children);
}

function marking(target: Partial<Target>) {
  const known = Object.entries(target).filter(([, one]) => one !== null && one !== "");
  return { role: "button", tabIndex: 0, dataset: Object.fromEntries(known) };
}

/** What a marked word names. */
export function targetOf({ dataset }: HTMLElement): Target {
  const [row, column, layer, head, step] = WHOLE.map((name) => {
    const written = dataset[name] ?? "";
    return DIGITS.test(written) ? Number(written) : null;
  });
  const [matrix, part, item] = [dataset.matrix ?? "", dataset.part ?? "", dataset.item ?? ""];
  return { row, column, layer, head, step, matrix, part, item };
}
