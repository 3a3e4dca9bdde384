// The legend: the chosen heads by name and colour, each with its labels and a button that removes it.

import { element, span } from "../core/dom.js";
import { headNode, labelNode } from "./reading.js";
import { headName } from "./words.js";

/** @typedef {{ head: HeadId, colour: string, labels: string[], note: string }} LegendHead */

export class Legend {
  /**
   * `onRemove(head)`.
   * @param {HTMLElement} root @param {{ onRemove: (head: HeadId) => void }} does
   */
  constructor(root, { onRemove }) {
    this.onRemove = onRemove;
    this.key = "";
    this.element = element("ul", { class: "legend", "aria-label": "Chosen heads" });
    root.append(this.element);
  }

  /**
   * Shows [{head, colour, labels, note}]; `mean` says that they are drawn as one.
   * @param {LegendHead[]} heads @param {string} mean
   */
  update(heads, mean) {
    const key = JSON.stringify([heads, mean]);
    if (key === this.key) return;
    this.key = key;
    const chips = heads.map((one) => this.chip(one, heads.length > 1));
    if (mean) chips.unshift(element("li", { class: "chip mean" }, mean));
    this.element.replaceChildren(...chips);
  }

  /** @param {LegendHead} one @param {boolean} removable */
  chip({ head, colour, labels, note }, removable) {
    const name = headName(head);
    const chip = element(
      "li",
      { class: "chip", dataset: { head: head.join(".") } },
      element("i", { class: "swatch", style: `background:${colour}` }),
      head[1] < 0 ? span("name", name) : headNode(name, head),
      ...labels.map(labelNode),
    );
    if (note) chip.append(span("note", note));
    if (removable) {
      const remove = element(
        "button",
        { type: "button", title: `Take away ${name}`, "aria-label": `Take away ${name}` },
        "×",
      );
      remove.addEventListener("click", () => this.onRemove(head));
      chip.append(remove);
    }
    return chip;
  }
}
