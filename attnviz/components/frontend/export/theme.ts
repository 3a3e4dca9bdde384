// Shared by all exported pictures: the background, the colours of the other theme, and the pin.

import { headColours, INK, TEXT_INK } from "../core/colours.ts";
import type { Pen } from "../pen/pen.ts";
import type { InkName } from "../core/colours.ts";

const MOST_HEADS = 256;
const ALIGN: Record<string, string> = { start: "left", middle: "center", end: "right" };
const NEAR = 14; // px: a label this near to where a pin's name belongs is that name

/** A colour of one theme as the other theme has it. */
export function inTheme(colour: string, from: Theme, to: Theme) {
  if (from === to) return colour;
  for (const inks of [INK, TEXT_INK]) {
    const names = Object.keys(inks[from]) as InkName[];
    const name = names.find((ink) => inks[from][ink].toLowerCase() === colour.toLowerCase());
    if (name) return inks[to][name];
  }
  const at = headColours(MOST_HEADS, from).indexOf(colour);
  return at === -1 ? colour : headColours(MOST_HEADS, to)[at];
}

/** Draws what the light over a picture says of the pin; what is only pointed at stays on the page. */
export function paintPins(
  pen: Pen,
  host: HTMLElement,
  { from, theme, font }: { from: Theme; theme: Theme; font: string },
) {
  const marks: NodeListOf<SVGGraphicsElement> = host.querySelectorAll("[data-attnviz-overlay] [data-state^=pinned]");
  for (const mark of marks) {
    if (mark.getAttribute("display") === "none") continue;
    const value = (name: string) => Number(mark.getAttribute(name));
    const colour = (name: string) => inTheme(mark.getAttribute(name) ?? "none", from, theme);
    pen.save();
    const turned = mark.transform.baseVal.consolidate()?.matrix;
    if (turned) pen.transform(turned.a, turned.b, turned.c, turned.d, turned.e, turned.f);
    if (mark.tagName === "rect") {
      paintBox(pen, [value("x"), value("y"), value("width"), value("height")], {
        fill: colour("fill"),
        opacity: value("fill-opacity"),
        stroke: colour("stroke"),
        width: value("stroke-width"),
      });
    } else if (!markLabel(pen, mark.textContent ?? "", { x: value("x"), y: value("y"), ink: colour("fill") })) {
      paintName(pen, mark.textContent ?? "", { x: value("x"), y: value("y"), mark, ink: colour("fill"), font });
    }
    pen.restore();
  }
}

function paintBox(
  pen: Pen,
  box: BoxNumbers,
  { fill, opacity, stroke, width }: { fill: string; opacity: number; stroke: string; width: number },
) {
  if (fill !== "none") {
    Object.assign(pen, { fillStyle: fill, globalAlpha: opacity });
    pen.fillRect(...box);
  }
  Object.assign(pen, { strokeStyle: stroke, lineWidth: width, globalAlpha: 1 });
  pen.strokeRect(...box);
}

/** Gives the label of a pinned row or column, where it is written, the ink of the pin; says whether it is. */
function markLabel(pen: Pen, name: string, { x, y, ink }: { x: number; y: number; ink: string }) {
  const token = name.slice(name.indexOf(" ") + 1); // a name begins with the number
  const [left, top] = pen.place(x, y);
  const label = pen.marks.find(
    (mark) =>
      mark.kind === "text" &&
      (mark.text === token || mark.text === name) &&
      Math.hypot(mark.matrix[4] - left, mark.matrix[5] - top) < NEAR,
  );
  if (label) Object.assign(label, { fill: ink, bold: true });
  return Boolean(label);
}

/**
 * The name of a pinned row or column whose label is left out or shortened, in place of the labels that it would touch.
 */
function paintName(
  pen: Pen,
  text: string,
  { x, y, mark, ink, font }: { x: number; y: number; mark: SVGElement; ink: string; font: string },
) {
  const size = Number(mark.getAttribute("font-size"));
  const [left, top] = pen.place(x, y);
  const touches = (one: Mark) =>
    one.kind === "text" && one.anchor === "end" && Math.hypot(one.matrix[4] - left, one.matrix[5] - top) < size * 1.15;
  pen.marks = pen.marks.filter((one) => !touches(one));
  Object.assign(pen, {
    font: `600 ${size}px ${font}`,
    fillStyle: ink,
    textAlign: ALIGN[mark.getAttribute("text-anchor") ?? "start"],
    textBaseline: mark.getAttribute("dominant-baseline") === "central" ? "middle" : "alphabetic",
  });
  pen.fillText(text, x, y);
}
