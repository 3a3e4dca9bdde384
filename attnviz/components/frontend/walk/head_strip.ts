// The head strip: a button for each head of the layer, with a thumbnail of its attention.

import { channels, COVER, HATCH, SCALES } from "../core/colours.ts";
import { contextOf, element, isAsBefore, span } from "../core/dom.ts";

const SIDE = 52; // CSS px

/** a row of a matrix, of so many */
export type Covered = { row: number; rows: number };

export class HeadStrip {
  choose;
  buttons: { head: number; root: HTMLButtonElement; canvas: HTMLCanvasElement }[];
  /** what the thumbnails were last drawn from */
  drawn: unknown[];
  root: HTMLDivElement;

  /** `choose(head)` is called with the number of the head that is clicked. */
  constructor(choose: (head: number) => void) {
    this.choose = choose;
    this.buttons = [];
    this.drawn = [];
    this.root = element("div", { class: "strip", role: "group" });
  }

  /**
   * Draws heads of a layer: `weights` (H, n, m) of all, and `hidden` (n, m) where cells are masked.
   * @param given the heads to choose from, and the row that nobody is to see
   */
  draw(
    { weights, hidden }: Arrays,
    { heads, layer, shade, covered }: { heads: number[]; layer: string; shade: Theme; covered: Covered | null },
  ) {
    const [, height, width] = weights.shape;
    this.root.setAttribute("aria-label", `heads of ${layer}`);
    // A button that is put anew, even in its own place, loses the focus.
    if (heads.join() !== this.buttons.map(({ head }) => head).join()) {
      const known = new Map(this.buttons.map((button) => [button.head, button]));
      this.buttons = heads.map((head) => known.get(head) ?? this.makeButton(head));
      this.root.replaceChildren(...this.buttons.map(({ root }) => root));
    }
    const drawn = [
      weights.data,
      hidden?.data,
      heads.join(),
      layer,
      shade,
      window.devicePixelRatio,
      covered?.row,
      covered?.rows,
    ];
    if (isAsBefore(drawn, this.drawn)) return;
    this.drawn = drawn;
    const cells = height * width;
    for (const { head, root, canvas } of this.buttons) {
      root.title = `${layer} · head ${head}`;
      const own = weights.data.subarray(head * cells, (head + 1) * cells);
      paint(canvas, own, hidden?.data, { height, width, shade, covered });
    }
  }

  makeButton(head: number) {
    const canvas = element("canvas", { "aria-hidden": "true" });
    const root = element(
      "button",
      { type: "button", "aria-label": `head ${head}` },
      canvas,
      span("number", String(head)),
    );
    root.addEventListener("click", () => this.choose(head));
    return { head, root, canvas };
  }

  select(head: number) {
    for (const one of this.buttons) one.root.setAttribute("aria-pressed", String(one.head === head));
  }

  /** @param head that is pointed at elsewhere */
  light(head: number | null) {
    for (const one of this.buttons) one.root.classList.toggle("lit", one.head === head);
  }
}

/**
 * The rows [from, to) of a thumbnail that hold anything of a row of the matrix.
 * @param height of the thumbnail
 */
export function coveredRows({ row, rows }: Covered, height: number) {
  return [Math.floor((row * height) / rows), Math.ceil(((row + 1) * height) / rows)];
}

/**
 * Paints one head in the screen's own pixels; `hidden` marks cells that are hatched, not low. Colours go by the square
 * root of a weight, as on Heads: in a long text most weights are small.
 */
function paint(
  canvas: HTMLCanvasElement,
  weights: Numbers,
  hidden: Numbers | undefined,
  { height, width, shade, covered }: Size & { shade: Theme; covered: Covered | null },
) {
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
      const share = Math.sqrt(weights[at] / 255);
      for (let c = 0; c < 3; c += 1) {
        image.data[(y * side + x) * 4 + c] = hidden?.[at] ? stripe[c] : paper[c] + (ink[c] - paper[c]) * share;
      }
      image.data[(y * side + x) * 4 + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  if (!covered) return;
  const [top, end] = coveredRows(covered, height).map((row) => (row * side) / height);
  context.fillStyle = COVER[shade];
  context.fillRect(0, Math.floor(top), side, Math.ceil(end) - Math.floor(top));
}
