// Shows the full text of a shortened token while it is hovered.

import { element } from "../core/dom.ts";
import type { Layout } from "./layout.ts";

const AWAY = 14; // px from the middle of the token
const STYLE = `position: absolute; box-sizing: border-box; max-height: 60%; overflow: hidden; overflow-wrap: anywhere;
  padding: 4px 8px; border: 1px solid; border-radius: 4px; pointer-events: none; unicode-bidi: isolate`;

export class Whole {
  element = element("div", { "aria-hidden": "true", hidden: true, style: STYLE });

  /** Shows a text beside a token, or with null nothing. */
  show(
    text: string | null,
    {
      side,
      index,
      layout,
      font,
      ink,
    }: { side: number; index: number; layout: Layout; font: string; ink: Record<string, string> },
  ) {
    this.element.hidden = text === null;
    if (text === null) return;
    this.element.textContent = text;
    const { style } = this.element;
    const { width: right, height: bottom } = layout.size;
    Object.assign(style, {
      maxWidth: `${Math.min(420, right - 8)}px`,
      font: `${layout.type.label}px/1.4 ${font}`,
      borderColor: ink.rule,
      background: ink.canvas,
      color: ink.text,
    });
    const [x, y] = layout.point(side, layout.label, layout.at(side, index));
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const left = layout.vertical && side === 0 ? x - width : x;
    const below = y + AWAY + height < bottom;
    style.left = `${Math.max(4, Math.min(right - width - 4, left))}px`;
    style.top = `${below ? y + AWAY : Math.max(0, y - AWAY - height)}px`;
  }
}
