// Half of a text was given: what was generated beside the true other half, with the characters that are the same.

import { element, result, span } from "../core/dom.ts";
import { fixed } from "../core/format.ts";
import { visible } from "./text.ts";
import { percent } from "./words.ts";

export class HalfPanel {
  said: HTMLParagraphElement;
  read: HTMLParagraphElement;
  pair: HTMLDivElement;

  constructor(root: HTMLElement) {
    this.said = element("p", { class: "said" });
    this.read = element("p", { class: "said" });
    this.pair = element("div", { class: "pair" });
    root.append(element("h2", {}, "The true other half"), this.said, this.read, this.pair);
  }

  /**
   * @param ids what was generated
   * @param read what the model says of the true text; null until it has come
   */
  update({ model, truth }: GenerationHeader, ids: number[], read: Arrays | null) {
    if (!truth) return;
    const known = truth.slice(0, ids.length);
    const matches = known.filter((id, n) => id === ids[n]).length;
    const share = matches / known.length;
    this.said.replaceChildren(
      `${matches} of ${known.length} characters stand at the same place in both: `,
      result(share, percent(share)),
      ". Once one character differs, the rest is predicted from another text: few match, even if the style is right.",
    );
    this.read.replaceChildren(...(read ? tellRead(read, known) : ["\u00a0"]));
    const side = (title: string, own: number[], other: number[]) =>
      element(
        "div",
        {},
        element("h3", {}, title),
        element(
          "div",
          { class: "text" },
          ...own.map((id, n) => span(id === other[n] ? "match" : "own", visible(model, id))),
        ),
      );
    this.pair.replaceChildren(side("Generated", ids, known), side("True", known, ids));
  }
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
    result(right / known.length, percent(right / known.length)),
    "; its mean loss is ",
    result(loss, fixed(loss, 3)),
    " nats a character.",
  ];
}
