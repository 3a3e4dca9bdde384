// The text as data: one tensor of ids, its split, the pairs (x, y) of a block, and how it is cut to be trained on.

import { whole } from "../core/format.ts";
import { span, template } from "../core/template.ts";
import { cuts, paragraph } from "./cuts.ts";
import type { Template } from "../core/template.ts";

export function data(given: Pick<SeriesProps, "header" | "row" | "values">, onCut: (name: string) => void) {
  const { text } = given.header;
  const ids = text.first.map((id) => template("li", {}, span("token", text.labels[id]), span("id", String(id))));
  return [
    part(
      "The whole data set is one tensor of ids",
      `torch.tensor(ids): shape (${whole(text.size)},), int64; ${text.labels.length} different characters, ` +
        `numbered in the order of their code points. Its first ${ids.length}:`,
      template("ol", { class: "ids" }, ...ids),
      paragraph(
        `The first 90 %, ${whole(text.train)} characters, are trained on; the last ` +
          `${whole(text.size - text.train)} are kept for validation.`,
      ),
    ),
    part(
      "A block is as many examples as it has characters",
      `x = tokens[:-1] and y = tokens[1:]: each position predicts the character after it. The first 8 of a block:`,
      pairs(text),
    ),
    cuts(given, onCut),
  ];
}

function pairs({ first, labels }: SeriesText) {
  const made = first
    .slice(0, Math.min(8, first.length - 1))
    .map((_, t) =>
      template(
        "tr",
        {},
        ...[first.slice(0, t + 1), [first[t + 1]]].flatMap((ids) => [
          template("td", { class: "chars" }, ids.map((id) => labels[id]).join("")),
          template("td", { class: "number" }, `[${ids.join(", ")}]`),
        ]),
      ),
    );
  const head = ["read", "ids", "to follow", "id"].map((text) => template("th", { scope: "col" }, text));
  return template("table", {}, template("thead", {}, template("tr", {}, ...head)), template("tbody", {}, ...made));
}

const part = (title: string, said: string, ...more: Template[]) =>
  template("section", {}, template("h2", {}, title), paragraph(said), ...more);
