// Exports a drawing of HTML: boxes, lines and texts at their places on the page. An element with the attribute
// data-drawn (the name of the picture) is one: `i` are boxes, what has a border below is a line, texts may be turned.

import { shorten } from "../board/layout.ts";
import { INK } from "../core/colours.ts";
import { measure } from "../pen/measure.ts";
import type { Pen } from "../pen/pen.ts";

const FAINT = 0.4; // the opacity of lines
const NAME = { size: 14, above: 12 }; // px

export function drawnPicture(root: HTMLElement): PagePicture {
  const name = root.dataset.drawn ?? "";
  return {
    name,
    ready: root.querySelector("i") !== null,
    paint(pen, { theme }) {
      const { x, y } = root.getBoundingClientRect();
      const from = { x: x - root.scrollLeft, y: y - root.scrollTop };
      const { text, rule, attention } = INK[theme];
      for (const line of root.querySelectorAll("*")) {
        const wide = Number.parseFloat(getComputedStyle(line).borderBottomWidth);
        if (!wide) continue;
        const box = line.getBoundingClientRect();
        Object.assign(pen, { fillStyle: rule, globalAlpha: FAINT });
        pen.fillRect(box.x - from.x, box.bottom - wide - from.y, box.width, wide);
      }
      for (const bar of root.querySelectorAll("i")) {
        const box = bar.getBoundingClientRect();
        Object.assign(pen, { fillStyle: attention, globalAlpha: 1 });
        pen.fillRect(box.x - from.x, box.y - from.y, box.width, box.height);
      }
      const { fontFamily } = getComputedStyle(root);
      Object.assign(pen, { font: `600 ${NAME.size}px ${fontFamily}`, fillStyle: text, textAlign: "left" });
      Object.assign(pen, { textBaseline: "alphabetic" });
      const widthOf: WidthOf = (words) => measure(pen.font, words).width;
      pen.fillText(shorten(name, root.clientWidth, widthOf), 0, -NAME.above);
      for (const words of root.querySelectorAll("*")) {
        if (!words.childElementCount && words.textContent) paintText(pen, words, from);
      }
    },
  };
}

/**
 * Writes the text of an element, turned around the corner at its upper right where it or its parent is turned. One that
 * the page cuts off is shortened.
 */
function paintText(pen: Pen, words: Element, from: { x: number; y: number }) {
  const { fontSize, fontWeight, fontFamily, lineHeight, textOverflow } = getComputedStyle(words);
  const font = `${Number(fontWeight) >= 600 ? "600 " : ""}${fontSize} ${fontFamily}`;
  Object.assign(pen, { font, textBaseline: "middle" });
  const around = words.parentElement ?? words;
  const degrees = Number.parseFloat(getComputedStyle(around).rotate) || 0;
  const range = document.createRange();
  range.selectNodeContents(words);
  const isCut = textOverflow === "ellipsis" && words.scrollWidth > words.clientWidth;
  const box = (degrees ? around : isCut ? words : range).getBoundingClientRect();
  const whole = words.textContent ?? "";
  const written = isCut ? shorten(whole, box.width, (some) => measure(font, some).width) : whole;
  pen.save();
  pen.translate(box.x - from.x, box.y - from.y);
  if (degrees) {
    pen.rotate((degrees * Math.PI) / 180);
    pen.textAlign = "right";
    pen.fillText(written, 0, Number.parseFloat(lineHeight) / 2);
  } else {
    pen.textAlign = "left";
    pen.fillText(written, 0, box.height / 2);
  }
  pen.restore();
}
