// Why two answers differ: the text beside that of the next seed, and where they part.

import { element, span } from "../core/dom.ts";
import { fixed } from "../core/format.ts";
import { visible } from "./text.ts";
import { nameOf, nextSeed } from "./words.ts";
import type { Draws } from "./draws.ts";

export class SeedsPanel {
  said: HTMLParagraphElement;
  pair: HTMLDivElement;

  constructor(root: HTMLElement) {
    this.said = element("p", { class: "said" });
    this.pair = element("div", { class: "pair" });
    root.append(element("h2", {}, "Why two answers differ"), this.said, this.pair);
  }

  /** @param other null until it has come */
  update(header: GenerationHeader, draws: Draws, other: Arrays | null) {
    this.pair.hidden = !other;
    if (!other) {
      this.said.textContent = "The text of the next seed is being generated …";
      return;
    }
    const { model } = header;
    const { seed } = header.values;
    const ids = Array.from(other.ids.data);
    const at = draws.ids.findIndex((id, n) => id !== ids[n]);
    this.said.textContent = at < 0 ? same(header) : parting(header, draws, ids[at], other.number.data[at], at);
    this.pair.dataset.at = String(at);
    this.pair.replaceChildren(
      side(model, `Seed ${seed}`, draws.ids, at),
      side(model, `Seed ${nextSeed(seed)}`, ids, at),
    );
  }
}

const same = ({ temperature, top_k }: GenerationHeader) =>
  temperature === 0 || top_k === 1
    ? "The same text: the likeliest character is always taken, so the seed plays no part."
    : "By chance the two are the same here. A longer text or a higher temperature shows a difference.";

function parting({ model }: GenerationHeader, draws: Draws, id: number, theirs: number, n: number) {
  const ours = draws.one("number", n);
  const before = n ? `The first ${n === 1 ? "character is" : `${n} characters are`} the same. ` : "";
  return (
    `${before}At character ${n + 1} both have the same probabilities, but the number ` +
    `${fixed(ours, 4)} falls on “${nameOf(model, draws.ids[n])}”, and ${fixed(theirs, 4)} on “${nameOf(model, id)}”. ` +
    "From there on each is predicted from another text."
  );
}

/** @param at where they part */
function side(model: GenerationModel, title: string, ids: number[], at: number) {
  const characters = ids.map((id, n) =>
    span(at < 0 || n < at ? "common" : n === at ? "parting" : "own", visible(model, id)),
  );
  return element("div", {}, element("h3", {}, title), element("div", { class: "text" }, ...characters));
}
