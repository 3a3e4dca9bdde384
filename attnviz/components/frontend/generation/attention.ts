// The attention of the last position: a row for each head of each layer, a column for each character so far.

import { channels, pixelTable, SCALES } from "../core/colours.ts";
import { contextOf, element, span } from "../core/dom.ts";
import { weightText } from "../core/format.ts";
import { headName, nameOf } from "./words.ts";

const HINT = "Point at a cell to read its weight. Click a row: the text takes the colours of that head.";
const NONE = "This model has no attention.";

export interface Given {
  header: GenerationHeader;
  /** (heads, columns) */
  weights: Float32Array;
  columns: number;
  /** of the context */
  ids: number[];
  chosen: number | null;
}

export class AttentionPanel {
  title: HTMLHeadingElement;
  canvas: HTMLCanvasElement;
  frame: HTMLSpanElement;
  labels: HTMLDivElement;
  reading: HTMLParagraphElement;
  room: HTMLDivElement;
  given: Given | null;

  constructor(root: HTMLElement, onChoose: (head: number | null) => void) {
    this.title = element("h2", {}, "Attention of the last position");
    this.canvas = element("canvas", { role: "img" });
    this.frame = span("frame");
    this.labels = element("div", { class: "layers" });
    this.reading = element("p", { class: "reading" });
    const picture = element("div", { class: "picture" }, this.canvas, this.frame);
    this.room = element("div", { class: "strip" }, this.labels, picture);
    root.append(this.title, this.room, this.reading);
    this.given = null;
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.read(null));
    this.canvas.addEventListener("click", (event) => {
      const at = this.cell(event);
      if (at) onChoose(at.head === this.given?.chosen ? null : at.head);
    });
  }

  /**
   * @param weights (heads, columns)
   * @param ids of the context
   * @param chosen which head
   */
  update(header: GenerationHeader, weights: Float32Array, ids: number[], chosen: number | null, theme: Theme) {
    const { layers, heads } = header.model;
    const rows = layers * heads;
    this.room.hidden = !rows;
    this.given = rows ? { weights, columns: ids.length, header, ids, chosen } : null;
    this.read(null);
    if (!rows) return;
    const count = `${ids.length} ${ids.length === 1 ? "character" : "characters"}`;
    this.canvas.width = ids.length;
    this.canvas.height = rows;
    this.canvas.setAttribute("aria-label", `${layers} layers of ${heads} heads, each over ${count}`);
    paint(this.canvas, weights, theme);
    if (this.labels.children.length !== layers) {
      this.labels.replaceChildren(...Array.from({ length: layers }, (_, n) => span("layer", `layer ${n}`)));
    }
    this.room.style.setProperty("--layers", String(layers));
    this.room.style.setProperty("--heads", String(heads));
    this.frame.hidden = chosen === null;
    this.frame.style.top = `${((chosen ?? 0) / rows) * 100}%`;
    this.frame.style.height = `${100 / rows}%`;
  }

  cell(event: PointerEvent | MouseEvent) {
    if (!this.given) return null;
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const rows = this.canvas.height;
    const clip = (share: number, count: number) => Math.min(Math.max(Math.floor(share * count), 0), count - 1);
    const head = clip((event.clientY - top) / height, rows);
    return { head, column: clip((event.clientX - left) / width, this.given.columns) };
  }

  point(event: PointerEvent) {
    this.read(this.cell(event));
  }

  read(at: { head: number; column: number } | null) {
    const { given, reading } = this;
    if (!given) {
      reading.textContent = NONE;
      return;
    }
    const { header, chosen } = given;
    if (!at) {
      const name = chosen === null ? "" : headName(chosen, header.model.heads);
      reading.textContent = name
        ? `The text shows ${name}: a stronger colour is more weight. Click its row to end it.`
        : HINT;
      delete reading.dataset.value;
      return;
    }
    const weight = given.weights[at.head * given.columns + at.column];
    const back = given.columns - 1 - at.column;
    const where = back ? `${back} before the last` : "the last";
    const what = `“${nameOf(header.model, given.ids[at.column])}”, ${where}`;
    reading.textContent = `${headName(at.head, header.model.heads)} looks at ${what}: ${weightText(weight)}`;
    reading.dataset.value = String(weight);
  }
}

function paint(canvas: HTMLCanvasElement, weights: Float32Array, theme: Theme) {
  const context = contextOf(canvas);
  const image = context.createImageData(canvas.width, canvas.height);
  const table = pixelTable(SCALES[theme].weights);
  const pixels = new Uint32Array(image.data.buffer);
  weights.forEach((weight, n) => (pixels[n] = table[Math.round(weight * (table.length - 1))]));
  context.putImageData(image, 0, 0);
  canvas.style.background = `rgb(${channels(SCALES[theme].weights[0]).join()})`;
}
