// A Plotly chart of heatmaps as a picture that can leave the page. Its cells are drawn from their numbers, as on the
// board, and so have the colours of either theme; its words and lines are read from what plotly.js has drawn.

import { canvasOf, cellPixels } from "./board_image.js";
import { blend, HATCH, inkOn, SCALES } from "./colours.js";
import { theme as themeOf } from "./dom.js";
import { inTheme, PAPER, paintPins } from "./export_theme.js";
import { cellAt, readPanels } from "./panels.js";
import { colourOf } from "./pen.js";

const LEFT_OUT = ".draglayer, .hoverlayer, .cbbg, .cbfills, defs, .bglayer";
const BAR_STEPS = 64;

export function chartPicture(chart) {
  return {
    name: "chart",
    get ready() {
      return readPanels(chart.graph).length > 0;
    },
    paint(pen, { theme }) {
      const { graph } = chart;
      const from = themeOf(graph);
      const font = graph._fullLayout.font.family;
      const panels = readPanels(graph).map((panel, n) => ({ ...panel, ...scaleOf(graph._fullData[n]) }));
      for (const panel of panels) paintCells(pen, panel, theme);
      paintBars(pen, graph, panels, theme);
      for (const drawn of graph.querySelectorAll(".main-svg path, .main-svg rect, .main-svg text")) {
        if (drawn.closest(LEFT_OUT)) continue;
        pen.save();
        const { a, b, c, d, e, f } = drawn.getCTM();
        pen.transform(a, b, c, d, e, f);
        if (drawn.tagName === "text") paintText(pen, drawn, { from, theme, font, panels });
        else paintShape(pen, drawn, { from, theme });
        pen.restore();
      }
      paintPins(pen, graph, { from, theme, font });
    },
  };
}

const scaleOf = ({ zmin, zmax, xgap }) => ({
  low: zmin,
  high: zmax,
  scale: zmin < 0 ? "signed" : "weights",
  gap: xgap,
});

function paintCells(pen, panel, theme) {
  const { x, y, z, width, height } = panel;
  const data = Float32Array.from(z.flatMap((row) => Array.from(row)));
  const [left, right] = [-0.5, width - 0.5].map((at) => x._offset + x.l2p(at));
  const [top, bottom] = [-0.5, height - 0.5].map((at) => y._offset + y.l2p(at));
  pen.save();
  pen.beginPath();
  pen.rect(x._offset, y._offset, x._length, y._length);
  pen.clip();
  if (data.some(Number.isNaN)) {
    const [ground, line] = HATCH[theme];
    pen.fillStyle = { hatch: { ground, line, lineWidth: 1.4 } };
    pen.fillRect(left, top, right - left, bottom - top);
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
function paintBars(pen, graph, panels, theme) {
  const barred = panels.filter((_, n) => graph._fullData[n].showscale);
  graph.querySelectorAll(".cbfills").forEach((fills, n) => {
    const { x, y, width, height } = fills.getBBox();
    const { e, f } = fills.getCTM();
    const step = height / BAR_STEPS;
    for (let s = 0; s < BAR_STEPS; s += 1) {
      pen.fillStyle = `rgb(${blend(SCALES[theme][barred[n]?.scale ?? "weights"], 1 - s / (BAR_STEPS - 1)).join()})`;
      pen.fillRect(x + e, y + f + s * step, width, step + 0.5);
    }
  });
}

/** Each piece of a text where plotly.js has put its first letter. */
function paintText(pen, text, { from, theme, font, panels }) {
  const pieces = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  let at = 0;
  for (let piece = pieces.nextNode(); piece; piece = pieces.nextNode()) {
    const words = piece.data;
    if (at >= text.getNumberOfChars()) return;
    const { x, y } = startOf(text, at, words.length);
    at += words.length;
    const style = getComputedStyle(piece.parentElement);
    const opacity = seen(piece.parentElement);
    if (!words.trim() || !opacity) continue;
    const weight = style.fontWeight >= 600 ? "600 " : "";
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
function startOf(text, from, count) {
  const start = text.getStartPositionOfChar(from);
  const letters = Array.from(
    { length: Math.min(count, text.getNumberOfChars() - from) },
    (_, n) => text.getExtentOfChar(from + n).x,
  );
  return { x: Math.min(start.x, ...letters), y: start.y };
}

/** The ink that is read best on the cell that a number stands in. */
function inkOnCell(panels, number, theme) {
  const box = number.getBBox();
  const { e, f } = number.getCTM();
  const [x, y] = [box.x + box.width / 2 + e, box.y + box.height / 2 + f];
  const at = cellAt(panels, x, y);
  if (!at) return null;
  const { z, low, high, scale } = panels.find(({ name }) => name === at.panel);
  return inkOn(blend(SCALES[theme][scale], (z[at.i][at.j] - low) / (high - low || 1)));
}

function paintShape(pen, drawn, { from, theme }) {
  const style = getComputedStyle(drawn);
  const opacity = seen(drawn);
  const width = Number.parseFloat(style.strokeWidth);
  const [fill, stroke] = [style.fill, style.stroke].map((colour) => (colour === "none" ? null : colourOf(colour)));
  const inks = {
    fill: fill && fill.alpha * style.fillOpacity * opacity,
    stroke: stroke && width && stroke.alpha * style.strokeOpacity * opacity,
  };
  if (!inks.fill && !inks.stroke) return;
  pen.beginPath();
  if (drawn.tagName === "path") tracePath(pen, drawn.getAttribute("d") ?? "");
  else pen.rect(...["x", "y", "width", "height"].map((side) => drawn[side].baseVal.value));
  if (inks.fill) {
    Object.assign(pen, { fillStyle: inTheme(fill.hex, from, theme), globalAlpha: inks.fill });
    pen.fill();
  }
  if (!inks.stroke) return;
  Object.assign(pen, { strokeStyle: inTheme(stroke.hex, from, theme), lineWidth: width, globalAlpha: inks.stroke });
  pen.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[\s,]+/).map(Number.parseFloat));
  pen.stroke();
}

/** How opaque an element is with all that it lies in; 0 where it is hidden. */
function seen(element) {
  let opacity = 1;
  for (let at = element; at && !at.classList.contains("js-plotly-plot"); at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.display === "none" || style.visibility === "hidden") return 0;
    opacity *= Number(style.opacity);
  }
  return opacity;
}

/** Follows the straight lines of a path; plotly.js draws nothing else here. */
function tracePath(pen, d) {
  let [x, y] = [0, 0];
  const go = (name) => pen[name](x, y);
  for (const [, command, rest] of d.matchAll(/([MLHVZmlhvz])([^A-Za-z]*)/g)) {
    const numbers = (rest.match(/-?[\d.]+(?:e-?\d+)?/g) ?? []).map(Number);
    const relative = command >= "a";
    const [dx, dy] = relative ? [x, y] : [0, 0];
    const name = command.toUpperCase();
    if (name === "Z") pen.closePath();
    else if (name === "H") [x] = [dx + numbers[0]];
    else if (name === "V") [y] = [dy + numbers[0]];
    else [x, y] = [dx + numbers[0], dy + numbers[1]];
    if (name === "M") go("moveTo");
    else if (name !== "Z") go("lineTo");
  }
}
