// Half of a text was given: what was generated beside the true other half, with the characters that are the same.

import { element, result, span } from "../core/dom.js";
import { visible } from "./text.js";
import { percent } from "./words.js";

export class HalfPanel {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.said = element("p", { class: "said" });
    this.pair = element("div", { class: "pair" });
    root.append(element("h2", {}, "The true other half"), this.said, this.pair);
  }

  /** @param {GenerationHeader} header @param {number[]} ids what was generated */
  update({ model, truth }, ids) {
    if (!truth) return;
    const known = truth.slice(0, ids.length);
    const matches = known.filter((id, n) => id === ids[n]).length;
    const share = matches / known.length;
    this.said.replaceChildren(
      `${matches} of ${known.length} characters stand at the same place in both: `,
      result(share, percent(share)),
      ". Once one character differs, the rest is predicted from another text: few match, even if the style is right.",
    );
    const side = (/** @type {string} */ title, /** @type {number[]} */ own, /** @type {number[]} */ other) =>
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
