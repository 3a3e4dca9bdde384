// The legend: the chosen heads by name and colour, each with its labels and a button that removes it.

import { element, span } from "../core/dom.ts";
import { headNode, labelNode } from "./reading.ts";
import { headName } from "./words.ts";

export type LegendHead = { head: HeadId; colour: string; labels: string[]; note: string };

export class Legend {
  onRemove;
  key: string;
  element: HTMLUListElement;

  /** `onRemove(head)`. */
  constructor(root: HTMLElement, { onRemove }: { onRemove: (head: HeadId) => void }) {
    this.onRemove = onRemove;
    this.key = "";
    this.element = element("ul", { class: "legend", "aria-label": "Chosen heads" });
    root.append(this.element);
  }

  /** Shows [{head, colour, labels, note}]; `mean` says that they are drawn as one. */
  update(heads: LegendHead[], mean: string) {
    const key = JSON.stringify([heads, mean]);
    if (key === this.key) return;
    this.key = key;
    const chips = heads.map((one) => this.chip(one, heads.length > 1));
    if (mean) chips.unshift(element("li", { class: "chip mean" }, mean));
    this.element.replaceChildren(...chips);
  }

  chip({ head, colour, labels, note }: LegendHead, removable: boolean) {
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
