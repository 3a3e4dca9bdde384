// The first step: the sentence, and below it its tokens as a table.

import { whole } from "../core/format.ts";
import { LISTED } from "../core/constants.ts";
import { element } from "../core/dom.ts";
import { Sentence, standing } from "./sentence.ts";
import { Formula } from "./text.ts";
import type { Board } from "../board/board.ts";
import type { Axis } from "../core/document.ts";
import type { StandingWord } from "./sentence.ts";

const { most: MOST } = LISTED;
const [QUERIES, KEYS] = ["Queries, the rows", "Keys, the columns"];
const AT_ONCE = 200; // rows of a table that are laid out in one frame: more would hold up the page
const TITLES = ["position", "token", "id", "stands for", "characters"];
const ABOUT = "Each of these numbered pieces becomes one row of X: row 0 is the first.";

export class TokenList {
  root = element("div", { class: "tokens" });
  sentence: Sentence;
  formula = new Formula();
  tables = element("div");
  shown: Axis[] = [];
  /** what is shown last of the sentence, for its transition to a matrix */
  left: { words: StandingWord[]; row: number } | null = null;

  /** @param does as of Sentence */
  constructor(does: ConstructorParameters<typeof Sentence>[0]) {
    this.sentence = new Sentence(does);
    const listing = element("details", { class: "listing" }, element("summary", {}, "Tokens and their ids"));
    listing.append(this.formula.root, this.tables);
    this.root.append(this.sentence.root, listing);
  }

  /** @param key the same where rows and columns are the same tokens */
  show(query: Axis, key: Axis, formula = "") {
    this.formula.show(formula);
    const isSame = this.shown[0] === query && this.shown[1] === key;
    if (isSame && !this.root.hidden) return;
    this.root.hidden = false;
    if (!isSame) this.make(query, key);
    this.layOut();
  }

  make(query: Axis, key: Axis) {
    this.shown = [query, key];
    const crosses = key !== query;
    this.tables.replaceChildren(
      element("p", {}, ABOUT),
      ...(crosses ? [heading(QUERIES)] : []),
      ...tableOf(query),
      ...(crosses ? [heading(KEYS), ...tableOf(key)] : []),
    );
  }

  /** Lays the rows of a long text out a part a frame. */
  layOut() {
    const tables = [...this.tables.querySelectorAll("tbody")].map(({ rows }) => groups([...rows]));
    const later = tables.flatMap((parts) => parts.slice(1));
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

  hide() {
    if (!this.root.hidden) this.left = { words: standing(this.sentence.words), row: this.sentence.row };
    this.root.hidden = true;
    this.sentence.clear();
  }

  /** Moves the words of the sentence, which has just been left, to a matrix. */
  moveTo(board: Board) {
    const { left } = this;
    this.left = null;
    const { shown } = board;
    if (!left?.words.length) return;
    import("./words_to_matrix.ts").then(
      ({ moveTo }) => board.shown === shown && moveTo(board, left.words, left.row),
      () => {}, // without the server nothing moves
    );
  }

  destroy() {
    this.sentence.destroy();
    this.formula.destroy();
  }
}

/** What can be laid out in a frame each. */
const groups = (all: Element[]) =>
  Array.from({ length: Math.ceil(all.length / AT_ONCE) }, (_, n) => all.slice(n * AT_ONCE, (n + 1) * AT_ONCE));

const afterFrame = (then: () => void) => requestAnimationFrame(() => setTimeout(then));

const UNKNOWN = "unknown: not in the vocabulary";

const heading = (text: string) => element("h2", {}, text);

/** The tokens of an axis as a table, and how many are not shown. */
function tableOf({ labels, ids, covers, places, unknown, segments }: Axis) {
  const rows = labels.slice(0, MOST).map((label, i) => {
    const source = places[i] ? JSON.stringify(covers[i]) : "added";
    const cells = [String(i), element("bdi", {}, label), idOf(ids[i]), element("bdi", {}, source), places[i] || "–"];
    const look = { class: unknown[i] ? "unknown" : "", title: unknown[i] ? UNKNOWN : "" };
    return element("tr", look, ...cells.map((cell) => element("td", {}, cell)));
  });
  const hidden = labels.length - rows.length;
  const more = hidden > 0 ? [element("p", { class: "more" }, `… and ${whole(hidden)} more, not shown`)] : [];
  const second = segments.includes(1) ? [element("p", {}, secondOf(segments))] : [];
  const head = element("tr", {}, ...TITLES.map((title) => element("th", { scope: "col" }, title)));
  return [element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)), ...more, ...second];
}

const idOf = (id: number) => (id < 0 ? "no id" : String(id));

/** From which token on the second text stands there. */
const secondOf = (segments: number[]) => `From token ${segments.indexOf(1)} on: the second text.`;
