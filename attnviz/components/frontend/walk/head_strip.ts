// The head strip: a button for each head of the layer, with a thumbnail of its attention.

import { channels, COVER, HATCH, SCALES } from "../core/colours.ts";
import { ROWS_AND_COLUMNS } from "../core/constants.ts";
import { bringIntoSight, contextOf, element, isAsBefore } from "../core/dom.ts";
import { isOnLine } from "../core/mask_reasons.ts";
import { span, template, write } from "../core/template.ts";

const SIDE = 52; // CSS px

/** a row of a matrix, and the number of its rows */
export type Covered = { row: number; rows: number };

export class HeadStrip {
  choose;
  layer = "";
  heads: number[] = [];
  /** how many heads after one another share a head of keys and values */
  sharedBy = 1;
  chosen = 0;
  /** the last chosen head that the strip was scrolled to */
  inSight: number | null = null;
  /** the head that is pointed at elsewhere */
  lit: number | null = null;
  /** by head */
  canvases = new Map<number, HTMLCanvasElement>();
  /** what the thumbnails were last drawn from */
  drawn: unknown[] = [];
  root = element("div", { class: "strip", role: "group" });
  sizes: ResizeObserver = new ResizeObserver(() => {
    this.inSight = null;
    this.bring();
  });

  /** `choose(head)` is called with the number of the head that is clicked. */
  constructor(choose: (head: number) => void) {
    this.choose = choose;
    this.sizes.observe(this.root);
  }

  /**
   * Draws heads of a layer: `weights` (H, n, m) of all, and `hidden` (n, m) where cells are masked, by why they are.
   * @param given the heads to choose from, and the row that nobody is to see
   */
  draw(
    { weights, hidden }: Arrays,
    given: { heads: number[]; sharedBy?: number; layer: string; shade: Theme; covered: Covered | null },
  ) {
    const { heads, sharedBy = 1, layer, shade, covered } = given;
    const [, height, width] = weights.shape;
    Object.assign(this, { heads, sharedBy, layer });
    this.root.setAttribute("aria-label", `heads of ${layer}. ${ROWS_AND_COLUMNS}`);
    this.write();
    const looks = [shade, window.devicePixelRatio, covered?.row, covered?.rows];
    const drawn = [weights.data, hidden?.data, heads.join(), ...looks];
    if (isAsBefore(drawn, this.drawn)) return;
    this.drawn = drawn;
    const cells = height * width;
    for (const head of heads) {
      const own = weights.data.subarray(head * cells, (head + 1) * cells);
      paint(this.canvasOf(head), own, hidden?.data, { height, width, shade, covered });
    }
  }

  write() {
    const buttons = this.heads.map((head) => {
      const shared = this.sharedAt(head);
      const title = `${this.layer} · head ${head}${shared}. ${ROWS_AND_COLUMNS}`;
      const says = { title, "aria-label": `head ${head}${shared}` };
      const [isFirst, isLast] = [head, head + 1].map((n) => shared && n % this.sharedBy === 0);
      const look = [head === this.lit && "lit", shared && "shares", isFirst && "first", isLast && "last"]
        .filter(Boolean)
        .join(" ");
      const looks = { class: look || undefined, "aria-pressed": String(head === this.chosen) };
      const does = { onclick: () => this.choose(head) };
      const number = span("number", String(head));
      return template("button", { key: head, type: "button", ...says, ...looks, ...does }, this.canvasOf(head), number);
    });
    write(this.root, ...buttons);
    this.bring();
  }

  /** Brings the chosen head into sight, once it is chosen and the strip is on the page. */
  bring() {
    const at = this.heads.indexOf(this.chosen);
    const isShown = this.inSight === this.chosen || !this.root.clientWidth;
    if (at < 0 || isShown) return; // the reader may have scrolled on
    this.inSight = this.chosen;
    bringIntoSight(this.root.children[at], this.root);
  }

  /** Which heads share the keys and values of a head; "" where it has its own. */
  sharedAt(head: number) {
    const first = head - (head % this.sharedBy);
    return this.sharedBy > 1 ? `, keys of heads ${first} to ${first + this.sharedBy - 1}` : "";
  }

  canvasOf(head: number) {
    const canvas = this.canvases.get(head) ?? element("canvas", { "aria-hidden": "true" });
    this.canvases.set(head, canvas);
    return canvas;
  }

  select(head: number) {
    this.chosen = head;
    this.write();
  }

  /** @param head that is pointed at elsewhere */
  light(head: number | null) {
    this.lit = head;
    this.write();
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
 * Paints one head in the screen's own pixels; `hidden` says why cells are hatched: 1 and the place of the reason in
 * HATCH. Colours go by the square root of a weight, as on Heads: in a long text most weights are small.
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
  image.data.fill(255);
  const [paper, ink] = SCALES[shade].weights.map(channels);
  const hatches = Object.entries(HATCH[shade]).map(([reason, of]) => ({ reason, of: of.map(channels) }));
  const line = [4 * density, density];
  for (let y = 0; y < side; y += 1) {
    const row = Math.floor((y * height) / side) * width;
    for (let x = 0; x < side; x += 1) {
      const at = row + Math.floor((x * width) / side);
      const hatch = hatches[(hidden?.[at] ?? 0) - 1];
      const hatched = hatch?.of[isOnLine(hatch.reason, x, y, line) ? 1 : 0];
      const share = Math.sqrt(weights[at] / 255);
      for (let c = 0; c < 3; c += 1) {
        image.data[(y * side + x) * 4 + c] = hatched?.[c] ?? paper[c] + (ink[c] - paper[c]) * share;
      }
    }
  }
  context.putImageData(image, 0, 0);
  if (!covered) return;
  const [top, end] = coveredRows(covered, height).map((row) => (row * side) / height);
  context.fillStyle = COVER[shade];
  context.fillRect(0, Math.floor(top), side, Math.ceil(end) - Math.floor(top));
}
