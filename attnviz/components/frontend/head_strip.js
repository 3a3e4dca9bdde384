// The head strip: a button for each head of the layer, with a thumbnail of its attention.

import { channels, HATCH, SCALES } from "./colours.js";
import { contextOf, element, span } from "./dom.js";

const SIDE = 52; // CSS px

export class HeadStrip {
  /**
   * `choose(head)` is called with the number of the head that is clicked.
   * @param {(head: number) => void} choose
   */
  constructor(choose) {
    this.choose = choose;
    /** @type {{ root: HTMLButtonElement, canvas: HTMLCanvasElement }[]} */
    this.buttons = [];
    this.root = element("div", { class: "strip", role: "group" });
  }

  /**
   * Draws every head: `weights` (H, n, m), and `hidden` (n, m) where cells are masked.
   * @param {Arrays} arrays @param {{ layer: string, shade: Theme }} looks
   */
  draw({ weights, hidden }, { layer, shade }) {
    const [heads, height, width] = weights.shape;
    while (this.buttons.length < heads) this.buttons.push(this.makeButton(this.buttons.length));
    this.root.setAttribute("aria-label", `heads of ${layer}`);
    // A button that is put anew, even in its own place, loses the focus.
    if (this.root.childElementCount !== heads) {
      this.root.replaceChildren(...this.buttons.slice(0, heads).map(({ root }) => root));
    }
    const cells = height * width;
    for (let h = 0; h < heads; h += 1) {
      this.buttons[h].root.title = `${layer} · head ${h}`;
      const own = weights.data.subarray(h * cells, (h + 1) * cells);
      paint(this.buttons[h].canvas, own, hidden?.data, { height, width, shade });
    }
  }

  /** @param {number} h */
  makeButton(h) {
    const canvas = element("canvas", { "aria-hidden": "true" });
    const root = element("button", { type: "button", "aria-label": `head ${h}` }, canvas, span("number", String(h)));
    root.addEventListener("click", () => this.choose(h));
    return { root, canvas };
  }

  /** @param {number} head */
  select(head) {
    this.buttons.forEach(({ root }, h) => root.setAttribute("aria-pressed", String(h === head)));
  }
}

/**
 * Paints one head in the screen's own pixels; `hidden` marks cells that are hatched, not low.
 * @param {HTMLCanvasElement} canvas @param {Numbers} weights @param {Numbers | undefined} hidden
 * @param {Size & { shade: Theme }} looks
 */
function paint(canvas, weights, hidden, { height, width, shade }) {
  const density = Math.max(1, Math.round(window.devicePixelRatio));
  const side = SIDE * density;
  canvas.width = side;
  canvas.height = side;
  const context = contextOf(canvas);
  const image = context.createImageData(side, side);
  const [paper, ink] = SCALES[shade].weights.map(channels);
  const hatch = HATCH[shade].map(channels);
  for (let y = 0; y < side; y += 1) {
    const row = Math.floor((y * height) / side) * width;
    for (let x = 0; x < side; x += 1) {
      const at = row + Math.floor((x * width) / side);
      const stripe = hatch[(x + y) % (4 * density) < density ? 1 : 0];
      const weight = weights[at] / 255;
      for (let c = 0; c < 3; c += 1) {
        image.data[(y * side + x) * 4 + c] = hidden?.[at] ? stripe[c] : paper[c] + (ink[c] - paper[c]) * weight;
      }
      image.data[(y * side + x) * 4 + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}
