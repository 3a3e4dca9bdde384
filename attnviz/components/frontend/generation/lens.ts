// The logit lens of the chosen draw: what the final norm and the output layer make of the state after each block.

import { fixed, percent } from "../core/format.ts";
import { span, template } from "../core/template.ts";
import { nameOf } from "./words.ts";
import type { Child } from "../core/template.ts";

const NONE = "There is no logit lens: the layers of this model do not add to one stream.";
const PLAIN = "Of all characters, at T = 1. Only the last row is what the model was trained for.";

type Lens = { id: number; probability: number }[][];

/** @param own the drawn character */
export function lensPanel(lens: Lens | null, { model }: GenerationHeader, own: number, pointer: Pointer): Child[] {
  let note = lens ? PLAIN : NONE;
  const rows = lens?.map((tokens, p) => {
    const state = p === 0 ? "embeddings" : `after block ${p - 1}`;
    const cells = tokens.map(({ id, probability }, n) => {
      const at = `${p}.${n}`;
      if (pointer.at === at) note = `${state}: “${nameOf(model, id)}” ${percent(probability, 1)}`;
      const look = { class: id === own ? "own" : "", style: { "--share": probability } };
      const name = span("name", nameOf(model, id));
      return template("td", { ...look, ...pointer.over(at) }, name, span("share", fixed(probability, 2)));
    });
    return template("tr", {}, template("th", { scope: "row" }, state), ...cells);
  });
  return [
    template("h2", {}, "Logit lens: what each layer would say"),
    template("div", { class: "table", hidden: !lens }, template("table", {}, template("tbody", {}, ...(rows ?? [])))),
    template("p", { class: "reading" }, note),
  ];
}
