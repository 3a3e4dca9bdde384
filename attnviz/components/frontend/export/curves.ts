// Exports the curves of a training with the heading and the legend that stand above them.

import { HEADING } from "../core/constants.ts";
import { afterSteps } from "../training/words.ts";
import { colourOf } from "../pen/measure.ts";
import { paintShape } from "./svg_shapes.ts";
import type { Pen } from "../pen/pen.ts";
import type { Curves } from "../training/curves.ts";

/** What stands in the section of a chart but not in the chart. */
const WORDS = ":is(h2, h3, .legend li, p)";

/** where the chart begins, in the window */
type Place = { x: number; y: number };

export function curvesPicture(curves: Curves): PagePicture {
  const sectionOf = () => curves.room.closest<HTMLElement>(".curve") ?? curves.room;
  const heading = () => sectionOf().querySelector("h2, h3")?.textContent ?? "";
  return {
    get name() {
      return heading() || "curves";
    },
    get ready() {
      return curves.drawn !== null && curves.size.width > 0;
    },
    paint(pen, { theme }) {
      const section = sectionOf();
      const from = curves.room.getBoundingClientRect();
      inTheme(section, theme, () => {
        paintAbove(pen, section, from);
        if (section.querySelector(".legend b")) paintStep(pen, section, curves.step, from);
        paintChart(pen, curves);
      });
    },
  };
}

/** Meanwhile the section has the colours of a theme, which may not be the page's. */
function inTheme(section: HTMLElement, theme: Theme, paint: () => void) {
  const { classList, style } = section;
  classList.add("attnviz-standalone"); // core/values.css gives it all colours anew
  style.colorScheme = theme;
  style.setProperty("--st-text-color", HEADING[theme]);
  try {
    paint();
  } finally {
    classList.remove("attnviz-standalone");
    style.colorScheme = "";
    style.removeProperty("--st-text-color");
  }
}

/** The heading, what is said of the curves, and the legend. */
function paintAbove(pen: Pen, section: HTMLElement, from: Place) {
  for (const swatch of section.querySelectorAll<HTMLElement>(".swatch")) {
    const { borderTopWidth, borderTopStyle, borderTopColor } = getComputedStyle(swatch);
    const [box, width] = [swatch.getBoundingClientRect(), Number.parseFloat(borderTopWidth)];
    const { hex, alpha } = colourOf(borderTopColor);
    const middle = box.top + width / 2 - from.y;
    Object.assign(pen, { strokeStyle: hex, globalAlpha: alpha, lineWidth: width });
    pen.setLineDash(borderTopStyle === "dashed" ? [2 * width, width] : []);
    pen.beginPath();
    pen.moveTo(box.left - from.x, middle);
    pen.lineTo(box.right - from.x, middle);
    pen.stroke();
  }
  pen.setLineDash([]);
  for (const words of section.querySelectorAll(WORDS)) {
    const pieces = document.createTreeWalker(words, NodeFilter.SHOW_TEXT);
    for (let piece = pieces.nextNode(); piece; piece = pieces.nextNode()) paintPiece(pen, piece as Text, from);
  }
}

/** Each line of a text where the page has it. */
function paintPiece(pen: Pen, piece: Text, from: Place) {
  const style = getComputedStyle(piece.parentElement ?? document.body);
  const { hex, alpha } = colourOf(style.color);
  const weight = Number(style.fontWeight) >= 600 ? "600 " : "";
  Object.assign(pen, { font: `${weight}${style.fontSize} ${style.fontFamily}`, fillStyle: hex });
  Object.assign(pen, { globalAlpha: alpha, textAlign: "left", textBaseline: "middle" });
  const range = document.createRange();
  const lines: { text: string; box: DOMRect }[] = [];
  for (const { index, 0: word } of piece.data.matchAll(/\S+/g)) {
    range.setStart(piece, index);
    range.setEnd(piece, index + word.length);
    const box = range.getBoundingClientRect();
    const line = lines.at(-1);
    if (line && Math.abs(line.box.y - box.y) < 2) line.text += ` ${word}`;
    else if (box.width) lines.push({ text: word, box });
  }
  for (const { text, box } of lines) pen.fillText(text, box.x - from.x, box.y + box.height / 2 - from.y);
}

/** The step whose numbers the legend has, right of the heading. */
function paintStep(pen: Pen, section: HTMLElement, step: number, from: Place) {
  const heading = section.querySelector("h2, h3");
  if (!heading) return;
  const range = document.createRange();
  range.selectNodeContents(heading);
  const { right, y, height } = range.getBoundingClientRect();
  const { fontSize, fontFamily, color } = getComputedStyle(heading);
  Object.assign(pen, { font: `${fontSize} ${fontFamily}`, fillStyle: colourOf(color).hex, globalAlpha: 1 });
  Object.assign(pen, { textAlign: "left", textBaseline: "middle" });
  pen.fillText(`, ${afterSteps(step)}`, right - from.x, y + height / 2 - from.y);
}

function paintChart(pen: Pen, { svg }: Curves) {
  for (const drawn of svg.querySelectorAll<SVGGraphicsElement>("line, path, text")) {
    pen.save();
    if (drawn instanceof SVGTextElement) paintLabel(pen, drawn);
    else paintShape(pen, drawn, svg);
    pen.restore();
  }
}

function paintLabel(pen: Pen, label: SVGTextElement) {
  const { fontSize, fontFamily, fill } = getComputedStyle(label);
  const { hex, alpha } = colourOf(fill);
  const { x, y, height } = label.getBBox();
  Object.assign(pen, { font: `${fontSize} ${fontFamily}`, fillStyle: hex, globalAlpha: alpha });
  Object.assign(pen, { textAlign: "left", textBaseline: "middle" });
  pen.fillText(label.textContent ?? "", x, y + height / 2);
}
