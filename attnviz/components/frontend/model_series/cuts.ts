// How the text is cut into the sequences to train on: the choice, the first sequences with their ids, and the counts.

import { whole } from "../core/format.ts";
import { span, template } from "../core/template.ts";

const CUTS: Record<string, string> = {
  blocks: "Blocks at random places",
  chunks: "Chunks with an end token",
  plain: "A plain cut",
};

type CutsProps = Pick<SeriesProps, "header" | "row" | "values">;

export function cuts({ header: { text }, row: { stage }, values }: CutsProps, onCut: (name: string) => void) {
  const choice = Object.entries(CUTS).map(([name, title]) => {
    const state = { "aria-pressed": String(name === values.cut), onclick: () => onCut(name) };
    return template("button", { type: "button", dataset: { cut: name }, ...state }, title);
  });
  const { cut } = text;
  const isHere = cut !== null && cut.name === values.cut;
  const shown = isHere ? (cut.lines ? ofLines(text, cut.lines, stage) : ofBlocks(text, stage)) : null;
  return template(
    "section",
    {},
    template("h2", {}, "The text is cut to be trained on"),
    template("div", { class: "runs tabs", role: "group", "aria-label": "How the text is cut" }, ...choice),
    template("div", { class: "cut" }, ...(shown ?? [paragraph("It is being cut …")])),
  );
}

function ofBlocks(text: SeriesText, { title, next, drawn }: SeriesStage) {
  const { block, batch, seed } = next;
  return [
    paragraph(
      `“${title}” is trained on blocks of ${block} characters: each step draws ${batch} of them, which begin at any ` +
        `of ${whole(text.train - block)} places of the training part, also within a word, and go over line ends. ` +
        `With seed ${seed}, the first ones of the first step:`,
    ),
    ...drawn.map((one) => sequence(text, one)),
    ...(drawn.length ? [shifted(drawn[0])] : []),
    paragraph(`A step reads x and y of shape (${batch}, ${block}), int64. Nothing is left out.`),
  ];
}

function ofLines(text: SeriesText, lines: SeriesLines, { next }: SeriesStage) {
  const { most, least, overlap, count, short, sequences, lengths, ends, repeated, dropped, validation, shown } = lines;
  const isPlain = text.cut?.name === "plain";
  const how = isPlain
    ? `Each line is cut after every ${most} characters, and the rest is kept, however short. No sequence goes over a ` +
      "line end, and no token says where a line ends: a model that is trained so never ends a line."
    : `Each line is a document, cut by itself into at least ${least} and at most ${most} characters. Each sequence ` +
      `repeats the last ${overlap} of the one before it (grey), or more if it would be too short. The line end ⏎ is ` +
      "the token that ends a document: it is predicted like any other.";
  const ending = isPlain ? "" : `, of which ${whole(ends)} end with ⏎`;
  const left = isPlain
    ? `${whole(dropped)} characters are in none: line ends, and a last one by itself, which has none to predict.`
    : `${whole(short)} lines are shorter than ${least}: they are left out, as empty ones are, ${whole(dropped)} ` +
      `characters in all. ${whole(repeated)} characters are in two sequences.`;
  return [
    paragraph(how),
    ...shown.map((one) => sequence(text, one)),
    ...(shown.length ? [shifted(shown[0])] : []),
    paragraph(
      `${whole(count)} lines to train on make ${whole(sequences)} sequences of ${lengths[0]} to ${lengths[1]} ` +
        `tokens${ending}. ${left} The validation part has ${whole(validation)} sequences; the loss is theirs.`,
    ),
    paragraph(
      `Each step draws ${next.batch} of them. In a batch, shorter rows are filled up to the longest one; what is ` +
        "filled has the target −100, which counts nothing. A file too large for memory is cut in the same way, line " +
        "by line: attnviz.training.text.chunks.FileChunks is an IterableDataset of torch.",
    ),
  ];
}

/** One sequence: each token above its id, what repeats the one before it in grey. */
function sequence(text: SeriesText, { start, ids, repeated }: TextSequence) {
  const tokens = ids.map((id, at) =>
    template("li", { class: at < repeated ? "repeated" : "" }, span("token", text.labels[id]), span("id", String(id))),
  );
  const said = `characters ${whole(start)} to ${whole(start + ids.length - 1)}, ${ids.length} tokens`;
  return template("ol", { class: "ids", "aria-label": said, title: said }, ...tokens);
}

/** The shifted pair of a sequence. */
function shifted({ ids }: TextSequence) {
  const line = (name: string, part: number[]) =>
    template("p", { class: "shifted" }, `${name} = [${part.join(", ")}]  (${part.length},)`);
  return template("div", {}, line("x = tokens[:-1]", ids.slice(0, -1)), line("y = tokens[1:]", ids.slice(1)));
}

export const paragraph = (text: string) => template("p", {}, text);
