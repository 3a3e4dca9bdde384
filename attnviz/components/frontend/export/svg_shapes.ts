// Draws the shapes of an SVG element with their computed styles.

import { colourOf } from "../pen/measure.ts";
import type { Pen } from "../pen/pen.ts";

/** @param ink the colour of the picture for one of the page */
export function paintShape(pen: Pen, drawn: SVGElement, root: Element, ink = (hex: string) => hex) {
  const style = getComputedStyle(drawn);
  const opacity = seen(drawn, root);
  const width = Number.parseFloat(style.strokeWidth);
  const [fill, stroke] = [style.fill, style.stroke].map((colour) => (colour === "none" ? null : colourOf(colour)));
  const hasArea = !(drawn instanceof SVGLineElement);
  const inks = {
    fill: fill && hasArea ? fill.alpha * Number(style.fillOpacity) * opacity : 0,
    stroke: stroke && width ? stroke.alpha * Number(style.strokeOpacity) * opacity : 0,
  };
  if (!inks.fill && !inks.stroke) return;
  pen.beginPath();
  trace(pen, drawn);
  if (fill && inks.fill) {
    Object.assign(pen, { fillStyle: ink(fill.hex), globalAlpha: inks.fill });
    pen.fill();
  }
  if (!stroke || !inks.stroke) return;
  Object.assign(pen, { strokeStyle: ink(stroke.hex), lineWidth: width, globalAlpha: inks.stroke });
  pen.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[\s,]+/).map(Number.parseFloat));
  pen.stroke();
}

/** How opaque an element is with all that it lies in, up to the root; 0 where it is hidden. */
export function seen(element: Element, root: Element) {
  let opacity = 1;
  let at: Element | null = element;
  for (; at && at !== root; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.display === "none" || style.visibility === "hidden") return 0;
    opacity *= Number(style.opacity);
  }
  return opacity;
}

function trace(pen: Pen, drawn: SVGElement) {
  if (drawn.tagName === "path") tracePath(pen, drawn.getAttribute("d") ?? "");
  else if (drawn instanceof SVGRectElement) {
    const { x, y, width, height } = drawn;
    pen.rect(x.baseVal.value, y.baseVal.value, width.baseVal.value, height.baseVal.value);
  } else if (drawn instanceof SVGLineElement) {
    pen.moveTo(drawn.x1.baseVal.value, drawn.y1.baseVal.value);
    pen.lineTo(drawn.x2.baseVal.value, drawn.y2.baseVal.value);
  }
}

/** Follows the straight lines of a path; nothing else is drawn here. */
function tracePath(pen: Pen, d: string) {
  let [x, y] = [0, 0];
  for (const [, command, rest] of d.matchAll(/([MLHVZmlhvz])([^A-Za-df-z]*)/g)) {
    const numbers = (rest.match(/-?[\d.]+(?:e-?\d+)?/g) ?? []).map(Number);
    const relative = command >= "a";
    const [dx, dy] = relative ? [x, y] : [0, 0];
    const name = command.toUpperCase();
    if (name === "Z") pen.closePath();
    else if (name === "H") [x] = [dx + numbers[0]];
    else if (name === "V") [y] = [dy + numbers[0]];
    else [x, y] = [dx + numbers[0], dy + numbers[1]];
    if (name === "M") pen.moveTo(x, y);
    else if (name !== "Z") pen.lineTo(x, y);
  }
}
