// The text as data: one tensor of ids, its split, the pairs (x, y) of a block, and how it is cut to be trained on.

import { whole } from "../core/format.ts";
import { element, span } from "../core/dom.ts";
import { Cuts } from "./cuts.ts";

export class Data {
  ids: HTMLElement;
  block: HTMLElement;
  cuts: Cuts;
  key: string;

  constructor(root: HTMLElement, on: { cut: (name: string) => void }) {
    this.ids = element("section");
    this.block = element("section");
    this.cuts = new Cuts(on);
    root.append(this.ids, this.block, this.cuts.element);
    this.key = "";
  }

  update(given: LadderGiven) {
    this.cuts.update(given);
    const {
      header: { text },
      row,
    } = given;
    const key = `${text.pairs} ${row.rung.block}`;
    if (key === this.key) return;
    this.key = key;
    const ids = text.first.map((id) => element("li", {}, span("token", text.labels[id]), span("id", String(id))));
    this.ids.replaceChildren(
      ...part(
        "The whole data set is one tensor of ids",
        `torch.tensor(ids): shape (${whole(text.size)},), int64; ${text.labels.length} different characters, ` +
          `numbered in the order of their code points. Its first ${ids.length}:`,
        element("ol", { class: "ids" }, ...ids),
        paragraph(
          `The first 90 %, ${whole(text.train)} characters, are trained on; the last ` +
            `${whole(text.size - text.train)} are kept for validation.`,
        ),
      ),
    );
    this.block.replaceChildren(
      ...part(
        "A block is as many examples as it has characters",
        `x = tokens[:-1] and y = tokens[1:]: each position predicts the character after it. The first 8 of a block:`,
        pairs(text),
      ),
    );
  }
}

function pairs({ first, labels }: LadderText) {
  const made = first
    .slice(0, Math.min(8, first.length - 1))
    .map((_, t) =>
      element(
        "tr",
        {},
        ...[first.slice(0, t + 1), [first[t + 1]]].flatMap((ids) => [
          element("td", { class: "chars" }, ids.map((id) => labels[id]).join("")),
          element("td", { class: "number" }, `[${ids.join(", ")}]`),
        ]),
      ),
    );
  const head = ["read", "ids", "to follow", "id"].map((text) => element("th", { scope: "col" }, text));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...made));
}

const part = (title: string, said: string, ...more: HTMLElement[]) => [
  element("h2", {}, title),
  paragraph(said),
  ...more,
];

const paragraph = (text: string) => element("p", {}, text);
