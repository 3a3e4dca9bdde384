// Exports attention as lines: the visible part, with the pin.

import { INK } from "../core/colours.js";
import { inTheme } from "./theme.js";
import { Strokes } from "../lines/strokes.js";
import { paintWords } from "../lines/tokens.js";

/** @typedef {import("../lines/choice.js").Bundle} Bundle */

const PALE = 0.1; // what is left of the other lines while a token is pinned, as on the page
const NONE = [null, null];

/** @param {import("../lines/lines.js").Lines} lines @returns {PagePicture} */
export function linesPicture(lines) {
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
      const strokes = (/** @type {Bundle} */ some) => new Strokes({ lines: some, layout, density: 1, colours });
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

/** @param {number | null} token */
const listed = (token) => (token === null ? [] : [token]);
