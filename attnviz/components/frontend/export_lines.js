// Attention as lines, as a picture that can leave the page: what is in view, with what is pinned.

import { inTheme } from "./export_theme.js";
import { Strokes } from "./lines_strokes.js";
import { paintWords } from "./lines_words.js";

const PALE = 0.1; // what is left of the other lines while a token is pinned, as on the page
const NONE = [null, null];

export function linesPicture(lines) {
  return {
    name: "lines",
    get ready() {
      lines.choose();
      return lines.lay();
    },
    paint(pen, { theme }) {
      const { layout, font, short, widthOf, state } = lines;
      const heads = state.heads.map((head) => ({ ...head, colour: inTheme(head.colour, state.theme, theme) }));
      const choice = Object.create(lines.choice, { heads: { value: heads } });
      const draw = (some) =>
        new Strokes({ lines: some, layout, density: 1, colours: heads.map(({ colour }) => colour) }).paint(
          pen,
          Infinity,
        );
      const pinned = lines.within(state.pinned);
      const any = pinned.q !== null || pinned.k !== null;
      pen.within({ opacity: any ? PALE : 1 }, () => draw(lines.lines));
      pen.within({}, () => {
        if (pinned.q !== null && pinned.k !== null) lines.underline(pen, pinned);
        if (any) draw(lines.choice.touching(listed(pinned.q), listed(pinned.k)));
        const tokens = [pinned.q, pinned.k];
        paintWords(
          { context: pen, layout, theme, font, choice, short, widthOf },
          { meant: tokens, hovered: NONE, pinned: tokens, cursor: null },
        );
      });
    },
  };
}

const listed = (token) => (token === null ? [] : [token]);
