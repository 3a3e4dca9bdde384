// Exports a Plotly chart of heatmaps. Its cells are drawn from their numbers, as on the board, in the colours of either
// theme; its texts and lines are read from the SVG of plotly.js.

import { canvasOf, cellPixels } from "../board/image.ts";
import { blend, HATCH, inkOn, SCALES } from "../core/colours.ts";
import { PAPER } from "../core/constants.ts";
import { theme as themeOf } from "../core/dom.ts";
import { reasonBoxes } from "../core/mask_reasons.ts";
import { inTheme, paintPins } from "./theme.ts";
import { cellAt, readPanels } from "../board/panels.ts";
import { colourOf } from "../pen/measure.ts";
import { paintShape, seen } from "./svg_shapes.ts";
import type { Pen } from "../pen/pen.ts";

export type ChartScale = { low: number; high: number; scale: "signed" | "weights"; gap: number; barred: boolean };
/** a heatmap of the chart, with its colours */
export type ChartPanel = DrawnPanel & ChartScale;

const LEFT_OUT = ".draglayer, .hoverlayer, .cbbg, .cbfills, defs, .bglayer";
const BAR_STEPS = 64;

export function chartPicture(chart: { graph: HTMLElement }): PagePicture {
  return {
    name: "chart",
    get ready() {
      return readPanels(chart.graph).length > 0;
    },
    paint(pen, { theme }) {
      const { graph } = chart;
      const from = themeOf(graph);
      const font = graph._fullLayout?.font.family ?? "sans-serif";
      const traces = graph._fullData ?? [];
      const panels = readPanels(graph).map((panel, n) => ({ ...panel, ...scaleOf(traces[n]) }));
      for (const panel of panels) paintCells(pen, panel, theme);
      paintBars(pen, graph, panels, theme);
      const shapes: NodeListOf<SVGGraphicsElement> = graph.querySelectorAll(
        ".main-svg path, .main-svg rect, .main-svg text",
      );
      for (const drawn of shapes) {
        if (drawn.closest(LEFT_OUT)) continue;
        pen.save();
        const { a, b, c, d, e, f } = drawn.getCTM() ?? new DOMMatrix();
        pen.transform(a, b, c, d, e, f);
        if (drawn instanceof SVGTextElement) paintText(pen, drawn, { graph, from, theme, font, panels });
        else paintShape(pen, drawn, graph, (hex) => inTheme(hex, from, theme));
        pen.restore();
      }
      paintPins(pen, graph, { from, theme, font });
    },
  };
}

const scaleOf = ({ zmin, zmax, xgap = 0, showscale = false }: PlotlyTrace): ChartScale => ({
  low: zmin,
  high: zmax,
  scale: zmin < 0 ? "signed" : "weights",
  gap: xgap,
  barred: showscale,
});

function paintCells(pen: Pen, panel: ChartPanel, theme: Theme) {
  const { x, y, z, width, height } = panel;
  const data = Float32Array.from(z.flatMap((row) => Array.from(row)));
  const [left, right] = [-0.5, width - 0.5].map((at) => x._offset + x.l2p(at));
  const [top, bottom] = [-0.5, height - 0.5].map((at) => y._offset + y.l2p(at));
  pen.save();
  pen.beginPath();
  pen.rect(x._offset, y._offset, x._length, y._length);
  pen.clip();
  if (data.some(Number.isNaN)) {
    const [wide, high] = [(right - left) / width, (bottom - top) / height];
    const boxes = panel.reasons ? reasonBoxes(panel.reasons, [height, width]) : [];
    const all = { reason: "future" as const, row: 0, column: 0, rows: height, columns: width };
    for (const { reason, row, column, rows, columns } of [all, ...boxes]) {
      const [ground, line] = HATCH[theme][reason];
      pen.fillStyle = { hatch: { ground, line, lineWidth: 1.4, reason } };
      pen.fillRect(left + column * wide, top + row * high, columns * wide, rows * high);
    }
  }
  pen.imageSmoothingEnabled = false;
  pen.drawImage(
    canvasOf(cellPixels({ ...panel, data, shape: [height, width] }, theme)),
    0,
    0,
    width,
    height,
    left,
    top,
    right - left,
    bottom - top,
  );
  if (panel.gap && pen.paper) {
    pen.fillStyle = PAPER[theme];
    for (let j = 1; j < width; j += 1) {
      pen.fillRect(x._offset + x.l2p(j - 0.5) - panel.gap / 2, top, panel.gap, bottom - top);
    }
    for (let i = 1; i < height; i += 1) {
      pen.fillRect(left, y._offset + y.l2p(i - 0.5) - panel.gap / 2, right - left, panel.gap);
    }
  }
  pen.restore();
}

/** Colour bars, where plotly.js has drawn some: its own are gradients. */
function paintBars(pen: Pen, graph: HTMLElement, panels: ChartPanel[], theme: Theme) {
  const bars = panels.filter(({ barred }) => barred);
  const drawn: NodeListOf<SVGGraphicsElement> = graph.querySelectorAll(".cbfills");
  drawn.forEach((fills, n) => {
    const { x, y, width, height } = fills.getBBox();
    const { e, f } = fills.getCTM() ?? new DOMMatrix();
    const step = height / BAR_STEPS;
    for (let s = 0; s < BAR_STEPS; s += 1) {
      pen.fillStyle = `rgb(${blend(SCALES[theme][bars[n]?.scale ?? "weights"], 1 - s / (BAR_STEPS - 1)).join()})`;
      pen.fillRect(x + e, y + f + s * step, width, step + 0.5);
    }
  });
}

/** Each piece of a text where plotly.js has put its first letter. */
function paintText(
  pen: Pen,
  text: SVGTextElement,
  given: { graph: HTMLElement; from: Theme; theme: Theme; font: string; panels: ChartPanel[] },
) {
  const { graph, from, theme, font, panels } = given;
  const pieces = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  let at = 0;
  for (let piece = pieces.nextNode(); piece; piece = pieces.nextNode()) {
    const words = piece.textContent ?? "";
    if (at >= text.getNumberOfChars()) return;
    const { x, y } = startOf(text, at, words.length);
    at += words.length;
    const parent = piece.parentElement ?? text;
    const style = getComputedStyle(parent);
    const opacity = seen(parent, graph);
    if (!words.trim() || !opacity) continue;
    const weight = Number(style.fontWeight) >= 600 ? "600 " : "";
    Object.assign(pen, {
      font: `${weight}${style.fontSize} ${font}`,
      textAlign: "left",
      textBaseline: "alphabetic",
      globalAlpha: opacity,
    });
    pen.fillStyle =
      (text.closest(".heatmap-label") && inkOnCell(panels, text, theme)) ||
      inTheme(colourOf(style.fill).hex, from, theme);
    pen.fillText(words, x, y);
  }
}

/** The left end of some letters; what runs from right to left has its first letter at the right. */
function startOf(text: SVGTextElement, from: number, count: number) {
  const start = text.getStartPositionOfChar(from);
  const letters = Array.from(
    { length: Math.min(count, text.getNumberOfChars() - from) },
    (_, n) => text.getExtentOfChar(from + n).x,
  );
  return { x: Math.min(start.x, ...letters), y: start.y };
}

/** The ink that is read best on the cell that a number stands in. */
function inkOnCell(panels: ChartPanel[], number: SVGTextElement, theme: Theme) {
  const box = number.getBBox();
  const { e, f } = number.getCTM() ?? new DOMMatrix();
  const [x, y] = [box.x + box.width / 2 + e, box.y + box.height / 2 + f];
  const at = cellAt(panels, x, y);
  const panel = panels.find(({ name }) => name === at?.panel);
  if (!at || !panel) return null;
  const { z, low, high, scale } = panel;
  return inkOn(blend(SCALES[theme][scale], (z[at.i][at.j] - low) / (high - low || 1)));
}
