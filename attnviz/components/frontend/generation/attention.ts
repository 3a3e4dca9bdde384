// The attention of the last position: a row for each head of each layer, a column for each character so far.

import { axisName, axisText } from "../board/panel.ts";
import { forPointer } from "../core/touch.ts";
import { channels, pixelTable, SCALES } from "../core/colours.ts";
import { contextOf, element } from "../core/dom.ts";
import { quoted, weightText } from "../core/format.ts";
import { span, template, write } from "../core/template.ts";
import { headName, nameOf } from "./words.ts";

const HINT = "Point at a cell to read its weight. Click a row: the text takes the colours of that head.";
const NONE = "This model has no attention.";

interface AttentionProps {
  header: GenerationHeader;
  /** (heads, columns) */
  weights: Float32Array;
  /** of the context */
  ids: number[];
  chosen: number | null;
}
type Place = { head: number; column: number };

export class AttentionPanel {
  canvas = element("canvas", { role: "img" });
  room: HTMLElement;
  given: AttentionProps | null = null;

  constructor(room: HTMLElement, onChoose: (head: number | null) => void) {
    this.room = room;
    this.canvas.addEventListener("pointermove", (event) => this.write(this.cell(event)));
    this.canvas.addEventListener("pointerleave", () => this.write(null));
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
    this.given = rows ? { weights, header, ids, chosen } : null;
    if (rows) paint(this.canvas, weights, rows, ids.length, theme);
    const size = `${axisText(rows, "row", axisName("head"))}, ${axisText(ids.length, "column", axisName("key"))}`;
    this.canvas.setAttribute(
      "aria-label",
      `Attention of the last character, ${layers} layers of ${heads} heads: ${size}`,
    );
    this.write(null);
  }

  cell(event: PointerEvent | MouseEvent): Place | null {
    if (!this.given) return null;
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const clip = (share: number, count: number) => Math.min(Math.max(Math.floor(share * count), 0), count - 1);
    const head = clip((event.clientY - top) / height, this.canvas.height);
    return { head, column: clip((event.clientX - left) / width, this.canvas.width) };
  }

  /** @param at what is pointed at */
  write(at: Place | null) {
    const { layers = 0, heads = 0 } = this.given?.header.model ?? {};
    const { chosen = null } = this.given ?? {};
    const [top, height] = [(chosen ?? 0) / (layers * heads), 1 / (layers * heads)].map((share) => `${share * 100}%`);
    const frame = { class: "frame", hidden: chosen === null, style: { top, height } };
    const names = Array.from({ length: layers }, (_, n) => span("layer", `layer ${n}`));
    const value = at && this.given ? this.given.weights[at.head * this.given.ids.length + at.column] : undefined;
    write(
      this.room,
      template("h2", {}, "Attention of the last position"),
      template(
        "div",
        { class: "strip", hidden: !this.given, style: { "--layers": layers, "--heads": heads } },
        template("div", { class: "layers" }, ...names),
        template("div", { class: "picture" }, this.canvas, template("span", frame)),
      ),
      template("p", { class: "reading", dataset: { value } }, this.given ? reading(this.given, at, value) : NONE),
    );
  }
}

function reading({ header, ids, chosen }: AttentionProps, at: Place | null, weight = NaN) {
  const { model } = header;
  if (at) {
    const back = ids.length - 1 - at.column;
    const what = `${quoted(nameOf(model, ids[at.column]))}, ${back ? `${back} before the last` : "the last"}`;
    return `${headName(at.head, model.heads)} looks at ${what}: ${weightText(weight)}`;
  }
  if (chosen === null) return forPointer(HINT);
  const shown = `The text shows ${headName(chosen, model.heads)}: a stronger colour is more weight.`;
  return forPointer(`${shown} Click its row to end it.`);
}

function paint(canvas: HTMLCanvasElement, weights: Float32Array, rows: number, columns: number, theme: Theme) {
  Object.assign(canvas, { width: columns, height: rows });
  const context = contextOf(canvas);
  const image = context.createImageData(columns, rows);
  const table = pixelTable(SCALES[theme].weights);
  const pixels = new Uint32Array(image.data.buffer);
  weights.forEach((weight, n) => (pixels[n] = table[Math.round(weight * (table.length - 1))]));
  context.putImageData(image, 0, 0);
  canvas.style.background = `rgb(${channels(SCALES[theme].weights[0]).join()})`;
}
