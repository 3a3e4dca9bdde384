// The stage: the interactive picture of a step, with a transition to the next step of the same head. The inspector
// handles the pointer, highlights rows and columns, and reports the pin.

import { quoted } from "../core/format.ts";
import { Board } from "../board/board.ts";
import { NARROW, stacked } from "../board/stack.ts";
import { Focus } from "../board/focus.ts";
import { Guess } from "../core/guess.ts";
import { covered } from "./pictures.ts";
import type { Header } from "../core/document.ts";

export class Stage {
  onRevealed;
  onGuess;
  painted = 0;
  /** the row that is guessed, or was; null where none is */
  guess: Guess | null = null;
  /** whether the last that was told of a guess is that there is one */
  isTold = false;
  /** whether no further row is covered */
  isDone = false;
  header: StageHeader | null = null;
  panels: Panel[] = [];
  narrow = false;
  fresh = false;
  board: Board;
  focus: Focus;
  sizes: ResizeObserver = new ResizeObserver(() => {
    if (this.header && this.isNarrow() !== this.narrow) this.show(this.header);
  });

  /**
   * `onRevealed()` is called when a guess was right; `onGuess(guess)` when a row is covered, one is
   * guessed, or none is any more; `onFocus(name)` when the user chooses a matrix to take the whole picture, or null
   * for all again: the next header then says so. Without it the stage does so by itself.
   */
  constructor(
    root: Element | ShadowRoot,
    {
      onRevealed = () => {},
      onGuess = () => {},
      onFocus,
    }: {
      onRevealed?: () => void;
      onGuess?: (guess: Guess | null) => void;
      onFocus?: (name: string | null) => void;
    } = {},
  ) {
    this.onRevealed = onRevealed;
    this.onGuess = onGuess;
    this.board = new Board(root, { className: "attnviz-stage" });
    this.focus = new Focus(this.board, onFocus ?? ((name) => this.setFocus(name)));
    this.board.onHold = () => this.guess && this.chooseRow(this.meant);
    this.board.uncover = (at) => this.takeGuess(at);
    this.board.element.addEventListener("attnviz-drawn", () => this.note());
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
    const isOther = before?.predict !== header.predict || before?.walk !== header.walk;
    if (isOther) [this.guess, this.isDone] = [null, false];
    this.chooseRow(this.meant);
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

  // ---- a row that is guessed

  /** The row to be covered: the pinned one, else the one that is covered, else the header's. */
  get meant() {
    return this.board.lights.pinned.query ?? this.guess?.row ?? this.header?.guess ?? 0;
  }

  /** Covers this row: the pinned one, when the pin moves to another. */
  chooseRow(row: number) {
    if (!this.header?.predict) this.guess = null;
    else if (this.guess?.row !== row) this.guess = new Guess(row);
    if (this.isDone) this.guess?.reveal();
    this.coverUp();
  }

  /** Covers the row that is guessed, where it would be given away. */
  coverUp() {
    const { guess } = this;
    const panels = guess?.isOpen ? this.covered : [];
    const coversOf = (panel: Panel | undefined) =>
      panel && (this.isGuessedIn(panel) ? guess?.covers : guess?.coversRow);
    this.board.cover(panels.length ? (name) => coversOf(panels.find((one) => one.name === name)) ?? null : null);
    if (guess || this.isTold) this.onGuess(guess);
    this.isTold = guess !== null;
  }

  /** The matrices in which the row is covered. */
  get covered() {
    return covered(this.panels, this.header?.result ?? "");
  }

  /** Whether a covered cell is one to guess: those of a sink's share and of a row's sum are not. */
  isGuessedIn({ cols }: Panel) {
    return cols === this.result?.cols;
  }

  get result() {
    return this.panels.find(({ name }) => name === this.header?.result) ?? null;
  }

  /** The numbers of a row of the step's result. */
  rowOf(row: number): Float32Array {
    const { data, shape } = this.result ?? { data: new Float32Array(0), shape: [0, 0] };
    return data.subarray(row * shape[1], (row + 1) * shape[1]);
  }

  /** What names the row that is guessed, and its cells. */
  words({ row }: Guess, { query, key }: Header) {
    const { cols } = this.result ?? {};
    return {
      row: `Row ${row}, ${quoted(query.labels[row] ?? "")}`,
      column: (j: number) => `column ${j}${cols === "key" ? ` (${quoted(key.labels[j])})` : ""}`,
    };
  }

  /** Takes a click for a guess; says whether it was one. */
  takeGuess({ panel, rows, cols, i, j }: Cell) {
    const { guess } = this;
    if (!guess) return false;
    const row = rows === "query" ? i : cols === "query" ? j : null;
    const isGuessed = this.covered.some((one) => one.name === panel && this.isGuessedIn(one));
    if (!guess.take({ row, column: rows === "query" ? j : i }, isGuessed ? this.rowOf(guess.row) : null)) return false;
    this.coverUp();
    if (!guess.isOpen) this.onRevealed();
    return true;
  }

  reveal(what: "row" | "all") {
    if (what === "all") this.isDone = true;
    this.guess?.reveal();
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
