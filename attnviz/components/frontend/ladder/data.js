// The text as data: one tensor of ids, its split, the pairs (x, y) of a block, and how documents are cut.

import { element, span } from "../core/dom.js";

export class Data {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.key = "";
  }

  /** @param {LadderGiven} given */
  update({ header: { text }, row }) {
    const key = `${text.pairs} ${row.rung.block}`;
    if (key === this.key) return;
    this.key = key;
    const ids = text.first.map((id) => element("li", {}, span("token", text.labels[id]), span("id", String(id))));
    const whole = (/** @type {number} */ n) => n.toLocaleString("en-US");
    this.root.replaceChildren(
      part(
        "The whole data set is one tensor of ids",
        `torch.tensor(ids): shape (${whole(text.size)},), int64; ${text.labels.length} different characters, ` +
          `numbered in the order of their code points. Its first ${ids.length}:`,
        element("ol", { class: "ids" }, ...ids),
        paragraph(
          `The first 90 %, ${whole(text.train)} characters, are trained on; the last ` +
            `${whole(text.size - text.train)} are kept for validation.`,
        ),
      ),
      part(
        "A block is as many examples as it has characters",
        `x = tokens[:-1] and y = tokens[1:]: each position predicts the character after it. The first 8 of a block:`,
        pairs(text),
        paragraph(
          `“${row.rung.title}” is trained on blocks of ${row.rung.block}; each step draws ${row.rung.batch} of them ` +
            "from anywhere in the training part.",
        ),
      ),
      part(
        "Documents are cut into sequences of at most 40",
        "The models here draw blocks from the text as a whole. Where documents are to stay apart, each is cut by " +
          "itself. The longest of the first ones, one a line (shorter ones than 20 are left out of the lower two):",
        ...text.cuts.map(cutOf),
        paragraph(
          "A file too large for memory is read line by line: attnviz.training.text.chunks.FileChunks, " +
            "an IterableDataset.",
        ),
      ),
    );
  }
}

/** @param {LadderText} text */
function pairs({ first, labels }) {
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

/** @param {LadderCut} cut */
function cutOf({ title, documents }) {
  const lists = documents.map((pieces) =>
    element(
      "ol",
      { class: "pieces" },
      ...pieces.map((piece) => element("li", { title: `${[...piece].length} characters` }, piece)),
    ),
  );
  return element("div", { class: "cut" }, element("h3", {}, title), ...lists);
}

/** @param {string} title @param {string} said @param {HTMLElement[]} more */
const part = (title, said, ...more) => element("section", {}, element("h2", {}, title), paragraph(said), ...more);

/** @param {string} text */
const paragraph = (text) => element("p", {}, text);
