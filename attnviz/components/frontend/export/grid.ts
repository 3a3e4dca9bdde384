// Exports the grid of all heads: the thumbnails, and frames around the chosen ones.

import { inTheme } from "./theme.ts";
import { boxAt, paintGrid } from "../grid/paint.ts";
import type { Grid } from "../grid/grid.ts";
import type { Pen } from "../pen/pen.ts";

const DENSITY = 3; // pixels of a thumbnail for one of the page's
const FRAME = { away: 2.25, width: 2.5 }; // px, as the style sheet has them
const HALO = { away: 2.5, width: 5, opacity: 0.35 };

export function gridPicture(grid: Grid): PagePicture {
  return {
    name: "grid",
    get ready() {
      return Boolean(grid.layout && grid.given?.overview);
    },
    get note() {
      return grid.given?.note ?? "";
    },
    paint(pen, { theme }) {
      const { given, layout } = grid;
      if (!given || !layout) return;
      const { layers, heads, order, faded, overview, chosen, current, sharedBy, local, theme: from } = given;
      const font = getComputedStyle(grid.element).fontFamily || "sans-serif";
      pen.within({ density: DENSITY }, () => {
        const canvas = { style: {}, getContext: () => pen };
        const looks = { layout, layers, heads, order, faded, overview, theme, sharedBy, local, font };
        paintGrid(canvas, { ...looks, density: DENSITY });
      });
      for (const { head, colour } of chosen) {
        const place = grid.placeOf(head);
        if (place === null || place < 0) continue;
        pen.strokeStyle = inTheme(colour, from, theme);
        const box = boxAt(layout, place);
        if (head[0] === current[0] && head[1] === current[1]) frame(pen, box, HALO);
        frame(pen, box, FRAME);
      }
    },
  };
}

function frame(
  pen: Pen,
  { x, y, side }: { x: number; y: number; side: number },
  { away, width, opacity = 1 }: { away: number; width: number; opacity?: number },
) {
  Object.assign(pen, { lineWidth: width, globalAlpha: opacity });
  pen.strokeRect(x - away, y - away, side + 2 * away, side + 2 * away);
}
