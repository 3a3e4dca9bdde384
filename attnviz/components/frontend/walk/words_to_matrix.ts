// The transition from the sentence to a matrix: each word moves to the label of its row, and the shares of the chosen
// word move to the cells of its row.

import { element } from "../core/dom.ts";
import type { Board } from "../board/board.ts";
import type { StandingWord } from "./sentence.ts";

const MS = 300;
const GAP = 6; // px between a label and its matrix, as on the board

/**
 * Moves the words of a sentence to the matrices of a board, which shows its picture already.
 * @param row the one whose shares move to cells
 */
export function moveTo(board: Board, words: StandingWord[], row: number) {
  const { shown } = board;
  const host = board.element.parentElement;
  if (!words.length || !shown || !host || !board.element.clientWidth) return;
  const places = board.layOut(shown);
  const rows = words.filter((word) => word.row !== null).length;
  const columns = words.filter((word) => word.column !== null).length;
  const labelled = places.find(({ panel }) => board.labels[panel.rows] && panel.shape[0] === rows);
  const weighed = places.find(({ panel }) => panel.name === "weights" && panel.shape[1] === columns);
  const frame = board.element.getBoundingClientRect();
  const layer = element("div", { class: "moving-words", "aria-hidden": "true" });
  host.append(layer);
  const origin = layer.getBoundingClientRect();
  const [left, top] = [frame.x - origin.x, frame.y - origin.y];
  const moves = words.flatMap((word) => {
    const { box } = word;
    const from = { x: box.x - origin.x, y: box.y - origin.y };
    const middle = { x: from.x + box.width / 2, y: from.y + box.height / 2 };
    const parts: Animation[] = [];
    if (labelled && word.row !== null) {
      const { x, y, height } = labelled;
      const to = { x: left + x - GAP, y: top + y + ((word.row + 0.5) * height) / rows };
      parts.push(labelMoves(layer, word, { from: middle, to, size: board.type.label }));
    }
    if (weighed && word.column !== null && word.share > 0) {
      const { x, y, width, height } = weighed;
      const cell = { width: width / columns, height: height / rows };
      const to = { x: left + x + word.column * cell.width, y: top + y + row * cell.height };
      parts.push(shareMoves(layer, word, { from, to, cell }));
    }
    return parts;
  });
  Promise.allSettled(moves.map(({ finished }) => finished)).then(() => layer.remove());
}

const TIMING = { duration: MS, easing: "ease-in-out", fill: "both" } as const;
type Way = { from: { x: number; y: number }; to: { x: number; y: number } };

/** A word becomes smaller on its way from its middle to its label, whose right end is `to`. */
function labelMoves(layer: HTMLElement, word: StandingWord, { from, to, size }: Way & { size: number }) {
  const label = element("span", { class: "moving-word" }, word.text);
  label.style.fontSize = `${word.size}px`;
  layer.append(label);
  return label.animate(
    [
      { transform: `translate(${from.x}px, ${from.y}px) translate(-50%, -50%) scale(1)`, opacity: 1 },
      { opacity: 1, offset: 0.7 },
      {
        transform: `translate(${to.x}px, ${to.y}px) translate(-100%, -50%) scale(${size / word.size})`,
        opacity: 0,
      },
    ],
    TIMING,
  );
}

/** The ground of a word becomes a cell. */
function shareMoves(layer: HTMLElement, { box, share }: StandingWord, { from, to, cell }: Way & { cell: Size }) {
  const ground = element("span", { class: "moving-share" });
  Object.assign(ground.style, { width: `${box.width}px`, height: `${box.height}px` });
  layer.append(ground);
  const scale = `scale(${cell.width / box.width}, ${cell.height / box.height})`;
  return ground.animate(
    [
      { transform: `translate(${from.x}px, ${from.y}px)`, opacity: share },
      { opacity: share, offset: 0.7 },
      { transform: `translate(${to.x}px, ${to.y}px) ${scale}`, opacity: 0 },
    ],
    TIMING,
  );
}
