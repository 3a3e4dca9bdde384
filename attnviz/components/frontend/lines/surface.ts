// The elements for the lines: three stacked canvases in a pane that stays fixed while the track scrolls.

import { contextOf, element, screenReaderOnly } from "../core/dom.ts";
import { Whole } from "./whole.ts";

const FILL = "position: absolute; inset: 0; width: 100%; height: 100%";
const HIGHEST_DENSITY = 3; // device pixels for a CSS pixel: more cost time and are not seen

export class Surface {
  faint: HTMLCanvasElement;
  dark: HTMLCanvasElement;
  front: HTMLCanvasElement;
  whole = new Whole();
  pane: HTMLDivElement;
  track: HTMLDivElement;
  status: HTMLParagraphElement = screenReaderOnly({ role: "status", "aria-live": "polite" });
  element: HTMLDivElement;
  density = 1;
  vertical = true;

  constructor() {
    const canvas = () => element("canvas", { "aria-hidden": "true", style: FILL });
    this.faint = canvas();
    this.dark = canvas();
    this.front = canvas();
    this.pane = element(
      "div",
      { style: "position: sticky; top: 0; left: 0; overflow: hidden" },
      this.faint,
      this.dark,
      this.front,
      this.whole.element,
    );
    this.track = element("div", {}, this.pane);
    this.element = element(
      "div",
      {
        class: "attnviz-lines",
        role: "application",
        "aria-roledescription": "lines",
        tabIndex: 0,
        style: "position: relative; width: 100%; height: 100%; scrollbar-width: thin; outline-offset: -2px",
      },
      this.track,
      this.status,
    );
  }

  /** How large the element is on the page, in px; nothing where it is not to be seen. */
  get size() {
    return { width: this.element.clientWidth, height: this.element.clientHeight };
  }

  get font() {
    return getComputedStyle(this.element).fontFamily || "sans-serif";
  }

  /** @param vertical whether the lines go from left to right, so that the tokens scroll up and down */
  turn(vertical: boolean) {
    this.vertical = vertical;
    this.element.style.overflowX = vertical ? "hidden" : "auto";
    this.element.style.overflowY = vertical ? "auto" : "hidden";
  }

  /** Fits the canvases to the element, and the track to how far the tokens scroll. @param travel px */
  fit({ width, height }: Size, travel: number) {
    this.density = Math.min(window.devicePixelRatio || 1, HIGHEST_DENSITY);
    for (const canvas of [this.faint, this.dark, this.front]) {
      canvas.width = Math.round(width * this.density);
      canvas.height = Math.round(height * this.density);
    }
    Object.assign(this.pane.style, { width: `${width}px`, height: `${height}px` });
    Object.assign(this.track.style, {
      width: `${width + (this.vertical ? 0 : travel)}px`,
      height: `${height + (this.vertical ? travel : 0)}px`,
    });
  }

  get offset() {
    return this.vertical ? this.element.scrollTop : this.element.scrollLeft;
  }

  set offset(px) {
    if (this.vertical) this.element.scrollTop = px;
    else this.element.scrollLeft = px;
  }

  /** How dark the lines are that are not meant. */
  fade(opacity: number) {
    for (const canvas of [this.faint, this.dark]) canvas.style.opacity = String(opacity);
  }

  /** Empties one of the canvases. */
  wipe(canvas: HTMLCanvasElement) {
    const context = contextOf(canvas);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.scale(this.density, this.density);
    return context;
  }
}
