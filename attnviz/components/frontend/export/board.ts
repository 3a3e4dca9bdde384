// Exports a board.

import { canvasOf, cellPixels } from "../board/image.ts";
import { inTheme, paintPins } from "./theme.ts";
import type { Board } from "../board/board.ts";

export function boardPicture(board: Board): PagePicture {
  return {
    name: "heatmaps",
    get ready() {
      return Boolean(board.places);
    },
    tokens: () => board.labels?.query ?? [],
    paint(pen, { theme }) {
      const from = board.theme;
      const places = (board.places ?? []).map((at) => ({
        ...at,
        panel: { ...at.panel, ink: at.panel.ink && inTheme(at.panel.ink, from, theme) },
      }));
      // All cells, even where the screen shows the largest of each block.
      board.paint(pen, { theme, places, imageOf: ({ panel }) => canvasOf(cellPixels(panel, theme)) });
      paintPins(pen, board.element, { from, theme, font: board.font });
    },
  };
}
