// The element of a board.

import { element } from "../core/dom.ts";

export function frameOf(canvas: HTMLCanvasElement, className: string) {
  const frame = element("div", { class: `attnviz-board ${className}`, tabIndex: 0, role: "application" }, canvas);
  frame.style.cssText = "position:relative;width:100%;height:100%;outline-offset:-2px;touch-action:pan-x pan-y";
  return frame;
}
