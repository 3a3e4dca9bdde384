// Shared by all exported pictures: the background, the colours of the other theme, and the pin.

import { headColours, INK, TEXT_INK } from "../core/colours.js";

export const PAPER = { light: "#FFFFFF", dark: "#14141B" };
export const TITLE_INK = { light: "#1B1B26", dark: "#EDEDF4" };
/** @typedef {import("../pen/pen.js").Pen} Pen */
/** @typedef {import("../core/colours.js").InkName} InkName */

const MOST_HEADS = 256;
/** @type {Record<string, string>} */
const ALIGN = { start: "left", middle: "center", end: "right" };
const NEAR = 14; // px: a label this near to where a pin's name belongs is that name

/**
 * A colour of one theme as the other theme has it.
 * @param {string} colour @param {Theme} from @param {Theme} to
 */
export function inTheme(colour, from, to) {
  if (from === to) return colour;
  for (const inks of [INK, TEXT_INK]) {
    const names = /** @type {InkName[]} */ (Object.keys(inks[from]));
    const name = names.find((ink) => inks[from][ink].toLowerCase() === colour.toLowerCase());
    if (name) return inks[to][name];
  }
  const at = headColours(MOST_HEADS, from).indexOf(colour);
  return at === -1 ? colour : headColours(MOST_HEADS, to)[at];
}

/**
 * Draws what the light over a picture says of the pin; what is only pointed at stays on the page.
 * @param {Pen} pen @param {HTMLElement} host @param {{ from: Theme, theme: Theme, font: string }} looks
 */
export function paintPins(pen, host, { from, theme, font }) {
  /** @type {NodeListOf<SVGGraphicsElement>} */
  const marks = host.querySelectorAll("[data-attnviz-overlay] [data-state^=pinned]");
  for (const mark of marks) {
    if (mark.getAttribute("display") === "none") continue;
    /** @param {string} name */
    const value = (name) => Number(mark.getAttribute(name));
    /** @param {string} name */
    const colour = (name) => inTheme(mark.getAttribute(name) ?? "none", from, theme);
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

/**
 * @param {Pen} pen @param {BoxNumbers} box
 * @param {{ fill: string, opacity: number, stroke: string, width: number }} looks
 */
function paintBox(pen, box, { fill, opacity, stroke, width }) {
  if (fill !== "none") {
    Object.assign(pen, { fillStyle: fill, globalAlpha: opacity });
    pen.fillRect(...box);
  }
  Object.assign(pen, { strokeStyle: stroke, lineWidth: width, globalAlpha: 1 });
  pen.strokeRect(...box);
}

/**
 * Gives the label of a pinned row or column, where it is written, the ink of the pin; says whether it is.
 * @param {Pen} pen @param {string} name @param {{ x: number, y: number, ink: string }} at
 */
function markLabel(pen, name, { x, y, ink }) {
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
 * @param {Pen} pen @param {string} text
 * @param {{ x: number, y: number, mark: SVGElement, ink: string, font: string }} at
 */
function paintName(pen, text, { x, y, mark, ink, font }) {
  const size = Number(mark.getAttribute("font-size"));
  const [left, top] = pen.place(x, y);
  /** @param {Mark} one */
  const touches = (one) =>
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
