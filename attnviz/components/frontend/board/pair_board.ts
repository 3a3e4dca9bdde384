// A board of one matrix, whose cells are pairs of a row and a column; it knows the one that is pointed at.

import { Board } from "./board.ts";
import { element } from "../core/dom.ts";
import { NOTHING } from "../core/pin.ts";

interface Acts {
  /** another cell is pointed at, or none */
  point: () => void;
  pin: (at: Pair) => void;
}

export class PairBoard {
  room: HTMLElement;
  board: Board;
  hovered: Pair;
  /** what a word of a lesson names */
  named: Target | null = null;

  constructor({ point, pin }: Acts, room: HTMLElement = element("div", { class: "large" })) {
    this.room = room;
    this.hovered = NOTHING;
    this.board = new Board(this.room, {
      onPoint: (at) => {
        this.hovered = { q: at?.i ?? null, k: at?.j ?? null };
        point();
      },
      onClick: ({ i, j }) => pin({ q: i, k: j }),
      onMove: ({ query, key }) => pin({ q: query, k: key }),
    });
  }

  /** Lights the cell of a matrix that is pointed at, and the pinned one. */
  light(matrix: string, pin: Pair, named = this.named) {
    const { panels: _, ...lit } = this.lit(matrix, pin);
    this.board.light({ ...lit, named });
  }

  /** What is lit. */
  lit(matrix: string, pin: Pair): LitNow {
    const { q, k } = this.hovered;
    const hovered = q === null && k === null ? null : { panel: matrix, rows: "query", cols: "key", i: q, j: k };
    return { hovered, pinned: { query: pin.q, key: pin.k }, panels: this.board.panels() };
  }

  /** Lights what a word names. */
  name(target: Target | null) {
    this.named = target;
    this.hovered = { q: target?.row ?? null, k: target?.column ?? null };
  }
}
