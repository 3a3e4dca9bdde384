// Half of a text was given: what was generated beside the true other half, with the characters that are the same.

import { fixed, percent } from "../core/format.ts";
import { result, template } from "../core/template.ts";
import { textBeside } from "./text.ts";
import type { Child } from "../core/template.ts";

/**
 * @param ids what was generated
 * @param read what the model says of the true text; null until it has come
 */
export function halfPanel({ model, truth }: GenerationHeader, ids: number[], read: Arrays | null): Child[] {
  const known = (truth ?? []).slice(0, ids.length);
  const matches = known.filter((id, n) => id === ids[n]).length;
  const share = matches / known.length;
  const side = (title: string, own: number[], other: number[]) =>
    textBeside(model, title, own, (id, n) => (id === other[n] ? "match" : "own"));
  return [
    template("h2", {}, "The true other half"),
    template(
      "p",
      { class: "said" },
      `${matches} of ${known.length} characters stand at the same place in both: `,
      result(share, percent(share, 1)),
      ". Once one character differs, the rest is predicted from another text: few match, even if the style is right.",
    ),
    template("p", { class: "said" }, ...(read ? tellRead(read, known) : ["\u00a0"])),
    template("div", { class: "pair" }, side("Generated", ids, known), side("True", known, ids)),
  ];
}

/**
 * How well the model predicts each true character after the true ones before it.
 * @param known the true characters
 */
function tellRead({ likeliest, probability }: Arrays, known: number[]) {
  const right = known.filter((id, n) => likeliest.data[n] === id).length;
  const loss = known.reduce((sum, _, n) => sum - Math.log(probability.data[n]), 0) / known.length;
  return [
    "Given the true text before each character, the model's likeliest one is right for ",
    `${right} of ${known.length}: `,
    result(right / known.length, percent(right / known.length, 1)),
    "; its mean loss is ",
    result(loss, fixed(loss, 3)),
    " nats a character.",
  ];
}
