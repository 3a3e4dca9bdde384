// What follows the last step of a head: the model's answer, the pinned row after each layer, and the way to where
// the whole model computes it.

import { failureText, Files } from "../core/files.ts";
import { number, quoted } from "../core/format.ts";
import { span, template, write } from "../core/template.ts";
import type { Header } from "../core/document.ts";
import type { Child } from "../core/template.ts";
import { expected, guessesOf } from "./guesses.ts";
import { statesName } from "./loading.ts";
import { wordOf } from "./row_words.ts";

const THERE = "How the whole model gets there, to the last step";
const FOLLOWS = "What follows in the whole model, to the last step";
const ABOUT = "After each layer: its length ‖x‖, and the first guess if the model ended there.";

export class End {
  root: HTMLElement;
  home: Home;
  isOpen = false;
  /** by the name of the file */
  known = new Map<string, RowStates>();
  files: Files<RowStates>;
  shown: { header: Header; row: number } | null = null;

  /** @param fetch fetches the states of a row by the name of its file */
  constructor(root: HTMLElement, home: Home, fetch: (name: string) => Promise<RowStates>) {
    this.root = root;
    this.home = home;
    const draw = () => this.draw();
    this.files = new Files(fetch, {
      onCome: (name, states) => {
        this.known.set(name, states);
        draw();
      },
      onFail: draw,
    });
  }

  /** @param q the pinned row, or null; what was shown goes if `isLast` is false */
  show(header: Header, q: number | null, isLast: boolean) {
    const row = isLast && this.home.follows ? rowOf(header, q) : undefined;
    this.shown = row === undefined ? null : { header, row };
    this.draw();
  }

  draw() {
    const { shown, home, isOpen } = this;
    if (!shown || !isOpen) this.files.want([]);
    if (!shown) {
      write(this.root);
      return;
    }
    const { header, row } = shown;
    const end = template(
      "div",
      { class: "end" },
      guessesOf(header, row, { hidden: home.hidden }),
      this.followingOf(header, row),
      this.statesOf(header, row),
      this.answerOf(header, row),
    );
    write(this.root, end);
  }

  /** The way to the last step of the whole model, where its last block is known. */
  answerOf({ guesses }: Header, row: number) {
    const { follows } = this.home;
    if (!follows || follows.answer === null) return null;
    const href = addressOf(follows, row, "probabilities", follows.answer);
    return template("a", { href }, guesses.length ? THERE : FOLLOWS);
  }

  /** What follows in the block of this layer, each step on the page of the whole model; or why none. */
  followingOf({ layer }: Header, row: number) {
    const { follows } = this.home;
    const at = follows ? follows.layers.indexOf(layer) : -1;
    if (follows?.why[at]) return template("p", { class: "row-states" }, follows.why[at]);
    if (!follows?.steps[at]?.length) return null;
    const link = (title: string, part: string, block: number) =>
      template("a", { href: addressOf(follows, row, part, block) }, title);
    const following = follows.next[at];
    const links = follows.steps[at].map(([part, title]) => link(title, part, follows.blocks[at]));
    if (following) links.push(link(following[0], "embeddings", following[1]));
    return template(
      "nav",
      { class: "row-states" },
      "Then: ",
      ...links.flatMap((step, n) => (n ? [" → ", step] : [step])),
    );
  }

  /** The row after each layer, where the way leads to the answer. */
  statesOf(header: Header, row: number) {
    if (!this.home.follows?.steps.length) return null;
    // Whether it is open is kept here: what the browser did by itself, the next drawing would undo.
    const onclick = (event: Event) => {
      event.preventDefault();
      this.isOpen = !this.isOpen;
      this.draw();
    };
    const says = ["Row ", span("query", `${row} ${quoted(wordOf(header.query, row))}`), " through the layers"];
    const content = this.isOpen ? this.states(header, row) : [];
    return template(
      "details",
      { class: "row-states", open: this.isOpen },
      template("summary", { onclick }, ...says),
      ...content,
    );
  }

  states({ layer }: Header, row: number): Child[] {
    const name = statesName(this.home, layer, row);
    this.files.want(this.known.has(name) ? [] : [name]);
    const states = this.known.get(name);
    if (states) return [template("p", {}, states.layers.length ? ABOUT : states.note), ...tableOf(states, layer)];
    const { failure } = this.files;
    const said = failure ? `They can’t be shown: ${failureText(failure)}` : "They are computed …";
    return [template("p", { role: "status" }, said)];
  }

  destroy() {
    this.files.destroy();
  }
}

/** The address of a step of the whole model. @param row that is pinned there */
function addressOf({ page }: Following, row: number, part: string, block: number) {
  const [path, query] = page.split("?");
  const to = new URLSearchParams([...new URLSearchParams(query), ["q", String(row)]]);
  to.set("part", part);
  to.set("block", String(block));
  return `${path}?${to}`;
}

/** The row that is spoken of: the pinned one, else one with guesses, else the last that stands for a word. */
function rowOf({ attention, guesses, query }: Header, q: number | null): number | undefined {
  const rows = guesses.map(({ row }) => row);
  if (q !== null && (rows.includes(q) || !rows.length)) return q;
  const last = query.places.findLastIndex(Boolean);
  return (attention === "encoder" ? rows[0] : rows.at(-1)) ?? (last < 0 ? undefined : last);
}

/** The states as a table. @param layer whose attention is shown */
function tableOf({ layers, norms, labels, shares, note }: RowStates, layer: number): Child[] {
  if (!layers.length) return [];
  const longest = Math.max(...norms);
  const rows = norms.map((norm, n) => {
    const name = n ? `after layer ${layers[n - 1]}` : "X";
    const isHere = n > 0 && layers[n - 1] === layer;
    return template(
      "tr",
      { class: isHere ? "here" : "" },
      template("th", { scope: "row" }, name),
      template("td", {}, span("norm", number(norm, 2)), bar(norm / longest)),
      labels.length ? template("td", {}, expected(labels[n], shares[n], false)) : null,
    );
  });
  return [
    template("div", { class: "scroll" }, template("table", {}, template("tbody", {}, ...rows))),
    template("p", { class: "caveat" }, note),
  ];
}

const bar = (part: number) => template("span", { class: "bar", style: { "--share": part.toFixed(3) } });
