// The legend: the chosen heads by name and colour, each with its labels and a button that removes it.

import { element } from "../core/dom.ts";
import { span, template, write } from "../core/template.ts";
import { labelSpan, namedHead } from "./reading.ts";
import { swatch } from "./tooltip.ts";
import { headName } from "./words.ts";

export type LegendHead = { head: HeadId; colour: string; labels: string[]; note: string };

export class Legend {
  onRemove;
  element = element("ul", { class: "legend", "aria-label": "Chosen heads" });

  /** `onRemove(head)`. */
  constructor(root: HTMLElement, { onRemove }: { onRemove: (head: HeadId) => void }) {
    this.onRemove = onRemove;
    root.append(this.element);
  }

  /** Shows [{head, colour, labels, note}]; `mean` says that they are drawn as one. */
  update(heads: LegendHead[], mean: string) {
    const chips = heads.map((one) => this.chip(one, heads.length > 1));
    write(this.element, mean !== "" && template("li", { class: "chip mean" }, mean), ...chips);
  }

  chip({ head, colour, labels, note }: LegendHead, removable: boolean) {
    const name = headName(head);
    const removes = `Take away ${name}`;
    const act = { type: "button", title: removes, "aria-label": removes, onclick: () => this.onRemove(head) };
    return template(
      "li",
      { key: head.join("."), class: "chip", dataset: { head: head.join(".") } },
      swatch(colour),
      head[1] < 0 ? span("name", name) : namedHead(name, head),
      ...labels.map(labelSpan),
      note !== "" && span("note", note),
      removable && template("button", act, "×"),
    );
  }
}
