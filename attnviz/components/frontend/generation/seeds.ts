// Why two answers differ: the text beside that of the next seed, and where they part.

import { fixed } from "../core/format.ts";
import { template } from "../core/template.ts";
import { textBeside } from "./text.ts";
import { nameOf, nextSeed } from "./words.ts";
import type { Child } from "../core/template.ts";
import type { Draws } from "./draws.ts";

/** @param other null until it has come */
export function seedsPanel(header: GenerationHeader, draws: Draws, other: Arrays | null): Child[] {
  const { seed } = header.values;
  const ids = Array.from(other?.ids.data ?? []);
  const at = draws.ids.findIndex((id, n) => id !== ids[n]);
  const said = !other
    ? "The text of the next seed is being generated …"
    : at < 0
      ? same(header)
      : parting(header, draws, ids[at], other.number.data[at], at);
  const look = (_: number, n: number) => (at < 0 || n < at ? "common" : n === at ? "parting" : "own");
  const side = (of: number, own: number[]) => textBeside(header.model, `Seed ${of}`, own, look);
  return [
    template("h2", {}, "Why two answers differ"),
    template("p", { class: "said" }, said),
    template(
      "div",
      { class: "pair", hidden: !other, dataset: { at: other ? at : undefined } },
      ...(other ? [side(seed, draws.ids), side(nextSeed(seed), ids)] : []),
    ),
  ];
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
