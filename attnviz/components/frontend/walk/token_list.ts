// The first step: the tokens as chips above their ids, and as a table.

import { whole } from "../core/format.ts";
import { CHIPS } from "../core/constants.ts";
import { element, span } from "../core/dom.ts";
import type { Axis } from "../core/document.ts";

const { most: MOST, longest: LONGEST } = CHIPS;
const [QUERIES, KEYS] = ["Queries, the rows", "Keys, the columns"];
const AT_ONCE = 200; // chips, or rows of a table, that are laid out in one frame: more would hold up the page
const TITLES = ["position", "token", "id", "stands for", "characters"];

export class TokenList {
  root: HTMLDivElement;
  shown: Axis[];

  constructor() {
    this.root = element("div", { class: "tokens", tabIndex: 0, role: "group", "aria-label": "Tokens" });
    this.shown = [];
  }

  /** @param key the same where rows and columns are the same tokens */
  show(query: Axis, key: Axis) {
    const isSame = this.shown[0] === query && this.shown[1] === key;
    if (isSame && !this.root.hidden) return;
    this.root.hidden = false;
    if (!isSame) this.make(query, key);
    this.layOut();
  }

  make(query: Axis, key: Axis) {
    this.shown = [query, key];
    const crosses = key !== query;
    this.root.replaceChildren(
      ...(crosses ? [heading(QUERIES)] : []),
      strip(query, crosses ? QUERIES : "Tokens"),
      ...(crosses ? [heading(KEYS), strip(key, KEYS)] : []),
      table(query),
      ...(crosses ? [table(key)] : []),
    );
  }

  /** Lays a long text out a part a frame: its first chips, the others, and the rows of the table below. */
  layOut() {
    const strips = [...this.root.querySelectorAll(".chips")].map(({ children }) => groups([...children]));
    const tables = [...this.root.querySelectorAll("tbody")].map(({ rows }) => groups([...rows]));
    const isLong = strips.some(({ length }) => length > 1);
    const later = isLong ? [...strips.flatMap((chips) => chips.slice(1)), ...tables.flat()] : [];
    const setHidden = (part: Element[], isHidden: boolean) => {
      for (const one of part) one.toggleAttribute("hidden", isHidden);
    };
    const next = () => {
      const part = later.shift();
      if (!part) return;
      setHidden(part, false);
      afterFrame(next);
    };
    for (const part of later) setHidden(part, true);
    afterFrame(next);
  }
}

/** What can be laid out in a frame each. */
const groups = (all: Element[]) =>
  Array.from({ length: Math.ceil(all.length / AT_ONCE) }, (_, n) => all.slice(n * AT_ONCE, (n + 1) * AT_ONCE));

const afterFrame = (then: () => void) => requestAnimationFrame(() => setTimeout(then));

const heading = (text: string) => element("h2", {}, text);

/** @param name of the picture when it is exported */
function strip(axis: Axis, name: string) {
  const chips = axis.labels.slice(0, MOST).map((label, i) => {
    const mark = axis.unknown[i] ? [span("mark", "?")] : [];
    const id = idOf(axis.ids[i]);
    const chip = span(classesOf(axis, i), element("bdi", {}, shortened(label), ...mark), span("id", id));
    chip.title = [`token ${i}`, label, axis.ids[i] < 0 ? id : `id ${id}`, ...saidOf(axis, i)].join(" · ");
    return chip;
  });
  const hidden = axis.labels.length - chips.length;
  const more = hidden > 0 ? [span("more", `… and ${whole(hidden)} more, not shown`)] : [];
  return element("div", { class: "chips", dataset: { tokens: name } }, ...chips, ...more);
}

function classesOf({ places, segments, unknown }: Axis, i: number) {
  const tint = places[i] ? ["even", "odd"][i % 2] : "added";
  return ["chip", tint, ...(unknown[i] ? ["unknown"] : []), ...(segments[i] === 1 ? ["second"] : [])].join(" ");
}

/** What a chip's tooltip says of where its token comes from. */
function saidOf({ places, segments, unknown }: Axis, i: number) {
  return [
    unknown[i] ? "unknown: not in the vocabulary" : "",
    places[i] ? `characters ${places[i]}` : "added by the tokenizer",
    segments[i] === 1 ? "second text" : "",
  ].filter(Boolean);
}

function table({ labels, ids, covers, places }: Axis) {
  const rows = labels.slice(0, MOST).map((label, i) => {
    const source = places[i] ? JSON.stringify(covers[i]) : "added";
    const cells = [String(i), element("bdi", {}, label), idOf(ids[i]), element("bdi", {}, source), places[i] || "–"];
    return element("tr", {}, ...cells.map((cell) => element("td", {}, cell)));
  });
  const head = element("tr", {}, ...TITLES.map((title) => element("th", { scope: "col" }, title)));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}

const idOf = (id: number) => (id < 0 ? "no id" : String(id));

function shortened(label: string) {
  const letters = Array.from(label);
  if (letters.length <= LONGEST) return label;
  const tail = Math.floor(LONGEST / 3);
  return `${letters.slice(0, LONGEST - tail - 1).join("")}…${letters.slice(-tail).join("")}`;
}
