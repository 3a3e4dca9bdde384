// The chosen row of a matrix as a table: its tokens with their numbers, in the order of the tokens or of the numbers. A
// button of the board opens it. It stands over the page, beside the matrix where there is room, and follows the pin.

import { element } from "../core/dom.ts";
import { namer, number, weightText } from "../core/format.ts";
import { template, write } from "../core/template.ts";
import { forPointer } from "../core/touch.ts";
import type { Board } from "./board.ts";

const HINT = "A click in the picture pins the row that is listed here.";
const LISTED = 1024; // numbers, at most
const EDGE = 8; // px between the table and the window's edge
const BAR = 60; // px that a colour bar has, right of its matrix

export interface RowOrder {
  by: "place" | "number";
  isUp: boolean;
}

export class RowTable {
  board: Board;
  opener: HTMLElement;
  root: HTMLElement;
  content: HTMLElement = element("div");
  order: RowOrder = { by: "number", isUp: false };
  /** the matrix that the user has chosen, by its name */
  chosen: string | null = null;

  /** @param opener the button that opens it, and has the focus again when it closes */
  constructor(board: Board, opener: HTMLElement) {
    this.board = board;
    this.opener = opener;
    const closing = { type: "button", class: "close", "aria-label": "Close", title: "Close (Esc)" };
    const close = element("button", { ...closing, onclick: () => this.toggle() }, "✕");
    const looks = { class: "row-table", popover: "manual", role: "dialog", "aria-label": "The chosen row as a table" };
    this.root = element("section", looks, close, this.content);
    for (const part of [this.root, opener]) part.addEventListener("keydown", (event) => this.key(event));
    board.element.addEventListener("attnviz-drawn", () => this.isOpen && this.panel && this.place(this.panel));
    board.rows.root.after(this.root);
  }

  get isOpen() {
    return this.root.matches(":popover-open");
  }

  /** @param takesFocus as the keyboard does; after a click the keys go on choosing what the picture shows */
  toggle(takesFocus = true) {
    const opens = !this.isOpen;
    this.opener.setAttribute("aria-expanded", String(opens));
    if (opens) {
      this.root.showPopover();
      this.update();
      if (takesFocus) this.root.querySelector("button")?.focus();
    } else {
      const hadFocus = this.root.matches(":focus-within");
      this.root.hidePopover();
      if (hadFocus) this.opener.focus();
    }
  }

  key(event: KeyboardEvent) {
    if (event.key !== "Escape" || !this.isOpen) return;
    event.preventDefault();
    event.stopPropagation();
    this.toggle();
  }

  /** Writes the row that is pinned now; a board that is no longer seen has no table. */
  update() {
    if (!this.isOpen) return;
    const panel = this.panel;
    if (!panel || !this.board.element.clientWidth) {
      this.toggle();
      return;
    }
    this.write(panel);
    this.place(panel);
  }

  /** The matrices whose rows are tokens; without those, all. */
  get panels() {
    const { shown, labels } = this.board;
    const panels = shown?.panels.filter(({ is_blank }) => !is_blank) ?? [];
    const ofTokens = panels.filter(({ rows }) => labels[rows]);
    return ofTokens.length ? ofTokens : panels;
  }

  /** The matrix of the table: the user's choice, else the last one of tokens by tokens, which is the result. */
  get panel() {
    const { panels } = this;
    const { labels } = this.board;
    return (
      panels.find(({ name }) => name === this.chosen) ?? panels.findLast(({ cols }) => labels[cols]) ?? panels.at(-1)
    );
  }

  write(panel: CompletePanel) {
    const { labels, lights } = this.board;
    const [rows, columns] = panel.shape;
    const row = Math.min(lights.pinned[panel.rows] ?? 0, rows - 1);
    const covers = this.board.covers?.(panel.name) ?? null;
    const values = panel.z[row];
    const isCovered = covers !== null && values.some((_, j) => covers(row, j));
    // The order of covered numbers would give them away.
    const order: RowOrder = isCovered ? { by: "place", isUp: true } : this.order;
    const text = panel.scale === "weights" ? weightText : number;
    const say = (j: number) => (covers?.(row, j) ? "covered" : Number.isNaN(values[j]) ? "hidden" : text(values[j]));
    const name = namer(panel.cols, labels, panel.ticks);
    const columnName = labels[panel.cols] ? "token" : (panel.axes?.[1] ?? "column");
    const pinned = lights.pinned[panel.cols] ?? null;
    const entries = sortedRow(values, order)
      .slice(0, LISTED)
      .map((j) =>
        template(
          "tr",
          { key: j, class: j === pinned ? "pinned" : "" },
          template("th", { scope: "row" }, name(j)),
          template("td", {}, say(j)),
        ),
      );
    write(
      this.content,
      this.choice(panel),
      template(
        "table",
        {},
        template("caption", {}, `${panel.title}, row ${namer(panel.rows, labels)(row)}`),
        template(
          "thead",
          {},
          template(
            "tr",
            {},
            this.head("place", columnName, order, isCovered),
            this.head("number", "number", order, isCovered),
          ),
        ),
        template("tbody", {}, ...entries),
      ),
      (lights.pinned[panel.rows] ?? null) === null && template("p", {}, forPointer(HINT)),
      columns > LISTED && template("p", {}, `${columns - LISTED} further numbers are not listed.`),
    );
  }

  /** The name of a column, a button that sorts by it, or by it the other way round; what is covered is not sorted. */
  head(by: RowOrder["by"], text: string, order: RowOrder, isCovered: boolean) {
    const isSorted = order.by === by;
    const onclick = () => {
      this.order = { by, isUp: isSorted ? !order.isUp : by === "place" };
      this.update();
    };
    return template(
      "th",
      { scope: "col", "aria-sort": isSorted ? (order.isUp ? "ascending" : "descending") : "none" },
      template(
        "button",
        { type: "button", onclick, disabled: isCovered },
        text,
        isSorted && (order.isUp ? " ▲" : " ▼"),
      ),
    );
  }

  /** The matrices, where there are several. */
  choice(panel: Panel) {
    const { panels } = this;
    const onchange = ({ target }: Event) => {
      this.chosen = (target as HTMLSelectElement).value;
      this.update();
    };
    const options = panels.map(({ name, title }) => template("option", { key: name, value: name }, title));
    const isOne = panels.length < 2;
    return !isOne && template("select", { "aria-label": "Matrix", value: panel.name, onchange }, ...options);
  }

  /** Right of the matrix, or left of it where there is more room; a narrow window has it at its top. */
  place({ name }: Panel) {
    const matrix = this.board.places?.find(({ panel }) => panel.name === name);
    if (!matrix) return;
    const { left, top } = this.board.element.getBoundingClientRect();
    const { offsetWidth: width } = this.root;
    const [before, after] = [left + matrix.x - EDGE, left + matrix.x + matrix.width + BAR];
    const isLeft = after + width + EDGE > innerWidth && before > innerWidth - after;
    const x = isLeft ? EDGE : Math.min(after, innerWidth - width - EDGE);
    this.root.style.setProperty("--left", `${Math.max(EDGE, x)}px`);
    this.root.style.setProperty("--top", `${Math.min(Math.max(EDGE, top), innerHeight / 2)}px`);
  }

  destroy() {
    this.root.remove();
  }
}

/** The places of a row in this order. What is hidden comes last; equal numbers stay in the order of places. */
export function sortedRow(values: Float32Array, { by, isUp }: RowOrder): number[] {
  const places = Array.from(values, (_, j) => j);
  if (by === "place") return isUp ? places : places.reverse();
  const isHidden = (j: number) => Number(Number.isNaN(values[j]));
  const way = isUp ? 1 : -1;
  return places.sort((a, b) => isHidden(a) - isHidden(b) || way * (values[a] - values[b]) || a - b);
}
