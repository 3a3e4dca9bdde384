// Exports attention as lines: the visible part, with the pin.

import { INK } from "../core/colours.ts";
import { inTheme } from "./theme.ts";
import { Strokes } from "../lines/strokes.ts";
import { paintWords } from "../lines/tokens.ts";
import type { Lines } from "../lines/lines.ts";
import type { Bundle } from "../lines/choice.ts";

const PALE = 0.1; // what is left of the other lines while a token is pinned, as on the page
const NONE = [null, null];

export function linesPicture(lines: Lines): PagePicture {
  return {
    name: "lines",
    get ready() {
      lines.choose();
      return lines.lay() !== null;
    },
    paint(pen, { theme }) {
      const { layout, font, short, widthOf, state, choice } = lines;
      if (!layout) return;
      const heads = state.heads.map((head) => ({ ...head, colour: inTheme(head.colour, state.theme, theme) }));
      const colours = heads.map(({ colour }) => colour);
      const strokes = (some: Bundle) => new Strokes({ lines: some, layout, density: 1, colours });
      const { q, k } = lines.within(state.pinned);
      const any = q !== null || k !== null;
      pen.within({ opacity: any ? PALE : 1 }, () => strokes(lines.lines).paint(pen, Infinity));
      pen.within({}, () => {
        const lit = strokes(choice.touching(listed(q), listed(k)));
        if (q !== null && k !== null && choice.connects(q, k)) lit.underline(pen, q, k, INK[theme].text);
        lit.paint(pen, Infinity);
        const coloured = Object.create(choice, { heads: { value: heads } });
        paintWords(
          { context: pen, layout, theme, font, choice: coloured, short, widthOf },
          { meant: [q, k], hovered: NONE, pinned: [q, k], cursor: null },
        );
      });
    },
  };
}

const listed = (token: number | null) => (token === null ? [] : [token]);
