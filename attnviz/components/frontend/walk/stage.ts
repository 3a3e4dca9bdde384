// The stage: the interactive picture of a step, with a transition to the next step of the same head. The inspector
// handles the pointer, highlights rows and columns, and reports the pin.

import { Board } from "../board/board.ts";
import { NARROW, stacked } from "../board/stack.ts";
import { Focus } from "../board/focus.ts";

export class Stage {
  onRevealed;
  onCovered;
  painted: number;
  row: number;
  /** columns that are revealed, or more at once */
  revealed: Set<number | "row" | "all">;
  header: StageHeader | null;
  panels: Panel[];
  narrow: boolean;
  fresh: boolean;
  board: Board;
  focus: Focus;
  sizes: ResizeObserver;

  /**
   * `onRevealed()` is called when a click has revealed the last cell of the covered row; `onCovered(row)` when another
   * row is covered, or none any more; `onFocus(name)` when the user chooses a matrix to take the whole picture, or null
   * for all again: the next header then says so. Without it the stage does so by itself.
   */
  constructor(
    root: Element | ShadowRoot,
    {
      onRevealed = () => {},
      onCovered = () => {},
      onFocus,
    }: {
      onRevealed?: () => void;
      onCovered?: (row: number | null) => void;
      onFocus?: (name: string | null) => void;
    } = {},
  ) {
    this.onRevealed = onRevealed;
    this.onCovered = onCovered;
    this.painted = 0;
    this.row = 0;
    this.revealed = new Set();
    this.header = null;
    this.panels = [];
    this.narrow = false;
    this.fresh = false;
    this.board = new Board(root, { className: "attnviz-stage" });
    this.focus = new Focus(this.board, onFocus ?? ((name) => this.setFocus(name)));
    this.board.onHold = () => this.chooseRow(this.meant);
    this.board.uncover = (at) => this.uncover(at);
    this.board.element.addEventListener("attnviz-drawn", () => this.note());
    this.sizes = new ResizeObserver(() => {
      if (this.header && this.isNarrow() !== this.narrow) this.show(this.header);
    });
    this.sizes.observe(this.board.element);
  }

  /** Shows a picture of a step; between steps of one walk it changes by a short transition. */
  take(header: StageHeader) {
    const before = this.header;
    this.header = header;
    this.panels = header.panels.map((panel) => {
      // The same numbers stay the same array, so a matrix that is only moved is not painted anew.
      const own = this.panels.find((one) => one.name === panel.name && equal(one.data, panel.data));
      return own ? { ...panel, data: own.data } : panel;
    });
    const along = before !== null && before.walk === header.walk && before.order !== header.order;
    if (before?.predict !== header.predict || before?.walk !== header.walk) this.revealed.clear();
    if (this.row !== this.meant) this.chooseRow(this.meant);
    else this.coverUp();
    this.fresh = true;
    const focus = header.focus ?? this.focus.name;
    this.focus.name = header.panels.some(({ name }) => name === focus) ? focus : null;
    this.show(header, { morph: along, backwards: along && header.order < before.order });
  }

  setFocus(name: string | null) {
    this.focus.name = name;
    if (this.header) this.show(this.header);
  }

  isNarrow() {
    const { clientWidth } = this.board.element;
    return clientWidth > 0 && clientWidth < NARROW;
  }

  show(header: StageHeader, motion?: { morph?: boolean; backwards?: boolean }) {
    this.narrow = this.isNarrow();
    // The board knows where numbers fit, so all its cells may carry them.
    const picture = this.focus.of({ ...header, panels: this.panels.map((panel) => ({ ...panel, numbered: true })) });
    const { tall, ...shown } = this.narrow ? stacked(picture) : { ...picture, tall: picture.grid.length > 2 };
    // Matrices stacked higher than two need a picture that is higher than the window.
    this.board.element.classList.toggle("attnviz-tall", tall);
    this.board.show(shown, motion);
  }

  /** Tells the page, and whoever measures it, that a new picture is complete. */
  note() {
    if (!this.header || !this.fresh || this.board.changing) return;
    this.fresh = false;
    this.painted += 1;
    const { step, layer, head } = this.header;
    const rows = this.panels.at(-1)?.shape[0] ?? 0;
    Object.assign(this.board.element.dataset, { painted: this.painted, step, layer, head, rows });
  }

  // ---- predict, then reveal

  /** The row to be covered: the pinned one, else the header's. */
  get meant() {
    return this.board.lights.pinned.query ?? this.header?.guess ?? 0;
  }

  /** Covers the pinned row; when the pin moves to another row, that one is covered. */
  chooseRow(row: number) {
    if (row === this.row) return;
    this.row = row;
    this.revealed.clear();
    if (this.header) this.coverUp();
  }

  coverUp() {
    const { predict, result } = this.header ?? {};
    const isAsked = predict && !this.revealed.has("all");
    this.onCovered(isAsked && !this.revealed.has("row") ? this.row : null);
    if (!isAsked) {
      this.board.cover(null);
      return;
    }
    const covered: IsCovered = (i, j) => i === this.row && !this.revealed.has("row") && !this.revealed.has(j);
    this.board.cover((name) => (name === result ? covered : null));
  }

  /** Reveals a cell; returns whether it was covered. */
  uncover({ panel, i, j }: Cell) {
    if (!this.board.covers?.(panel)?.(i, j)) return false;
    this.reveal(j);
    const columns = this.panels.find(({ name }) => name === panel)?.shape[1];
    if (this.revealed.size === columns) {
      this.reveal("row");
      this.onRevealed();
    }
    return true;
  }

  reveal(what: number | "row" | "all") {
    this.revealed.add(what);
    this.coverUp();
  }

  destroy() {
    this.sizes.disconnect();
    this.board.destroy();
  }
}

function equal(a: Float32Array, b: Float32Array) {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i] && !(Number.isNaN(a[i]) && Number.isNaN(b[i]))) return false;
  return true;
}
