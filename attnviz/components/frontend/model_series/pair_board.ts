// A board of one matrix, whose cells are pairs of a row and a column.

import { Board } from "../board/board.ts";

interface Acts {
  /** the cell that is pointed at; of nulls if there is none */
  point: (at: Pair) => void;
  pin: (at: Pair) => void;
}

export const pairBoard = (room: HTMLElement, { point, pin }: Acts) =>
  new Board(room, {
    onPoint: (at) => point({ q: at?.i ?? null, k: at?.j ?? null }),
    onClick: ({ i, j }) => pin({ q: i, k: j }),
    onMove: ({ query, key }) => pin({ q: query, k: key }),
  });
