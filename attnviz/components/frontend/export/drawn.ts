// Exports a drawing of HTML: boxes, lines and texts at their places on the page. An element with the attribute
// data-drawn (the name of the picture) is one: `i` are boxes, what has a border below is a line, texts may be turned.

import { INK } from "../core/colours.ts";
import type { Pen } from "../pen/pen.ts";

const FAINT = 0.4; // the opacity of lines

export function drawnPicture(root: HTMLElement): PagePicture {
  return {
    name: root.dataset.drawn ?? "",
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
      pen.fillStyle = text;
      for (const words of root.querySelectorAll("*")) {
        if (!words.childElementCount && words.textContent) paintText(pen, words, from);
      }
    },
  };
}

/** Writes the text of an element, turned around the corner at its upper right where it or its parent is turned. */
function paintText(pen: Pen, words: Element, from: { x: number; y: number }) {
  const { fontSize, fontWeight, fontFamily, lineHeight } = getComputedStyle(words);
  const font = `${Number(fontWeight) >= 600 ? "600 " : ""}${fontSize} ${fontFamily}`;
  Object.assign(pen, { font, textBaseline: "middle" });
  const around = words.parentElement ?? words;
  const degrees = Number.parseFloat(getComputedStyle(around).rotate) || 0;
  const range = document.createRange();
  range.selectNodeContents(words);
  const box = (degrees ? around : range).getBoundingClientRect();
  pen.save();
  pen.translate(box.x - from.x, box.y - from.y);
  if (degrees) {
    pen.rotate((degrees * Math.PI) / 180);
    pen.textAlign = "right";
    pen.fillText(words.textContent ?? "", 0, Number.parseFloat(lineHeight) / 2);
  } else {
    pen.textAlign = "left";
    pen.fillText(words.textContent ?? "", 0, box.height / 2);
  }
  pen.restore();
}
