// Makes a Plotly figure of a picture of matrices: labelled axes, comparable colours, a pin and hidden cells.
// attnviz/figures/compose.py makes the same figure for notebooks; a test compares the two.

import { complete } from "../board/panel.ts";
import { sumOf as sum } from "../core/arithmetic.ts";
import { channels, HATCH, INK, SCALES, TEXT_INK } from "../core/colours.ts";
import { CELL_NUMBERS, CHART, RULE_OPACITY } from "../core/constants.ts";
import { fixed, number, weightText } from "../core/format.ts";
import { legend, reasonBoxes } from "../core/mask_reasons.ts";
import { escape, marginsOf, xAxis, yAxis } from "./axes.ts";

export { enlarged } from "./enlarged.ts";

/** the relative sizes of its grid */
export type ChartPicture = BoardPicture & { widths: number[]; heights: number[] };
/** A matrix and its place in the figure. */
export interface ChartPlace {
  panel: CompletePanel;
  rows: number;
  cols: number;
  /** its left and right end, as fractions of the figure */
  x: Span;
  /** its lower and upper end */
  y: Span;
  /** what plotly.js appends to "x" and "y" for its axes */
  suffix: string;
  /** whether no matrix is below it, so that it shows the labels of its columns */
  bottom: boolean;
  leftmost: boolean;
}
export type ChartLooks = { theme: Theme; pin: Pair };

const CLEAR = "rgba(0,0,0,0)";

/** The data and the layout for plotly.js. */
export function figureOf(picture: ChartPicture, { theme, pin }: ChartLooks): PlotlyFigure {
  const places = placesOf(picture);
  const { labels, between, products } = picture;
  const ink = INK[theme];
  const axes = places.flatMap((place) => [
    [`xaxis${place.suffix}`, xAxis(place, labels, theme)],
    [`yaxis${place.suffix}`, yAxis(place, labels, theme)],
  ]);
  const titles = places.map((place) => titleOf(place, theme));
  return {
    data: places.map((place) => heatmapOf(place, theme)),
    layout: {
      template: { layout: {} },
      height: null,
      margin: marginsOf(places, labels),
      paper_bgcolor: CLEAR,
      plot_bgcolor: CLEAR,
      meta: { products },
      dragmode: "zoom",
      showlegend: false,
      annotations: between ? [...titles, operationOf(between, places)] : titles,
      shapes: shapesOf(places, pin, theme),
      images: places.filter(({ panel }) => panel.gaps).map((place) => hatchingOf(place, theme)),
      hoverlabel: { align: "left", bgcolor: ink.canvas, font: { color: ink.text } },
      font: { family: '"Source Sans", sans-serif', color: ink.text },
      modebar: { bgcolor: CLEAR, color: ruleOf(theme), activecolor: ink.text },
      ...Object.fromEntries(axes),
    },
  };
}

/** The lines of a pin, and those between heads; where only the pin is another, nothing else is. */
export const pinnedShapes = (picture: ChartPicture, { theme, pin }: ChartLooks) =>
  shapesOf(placesOf(picture), pin, theme);

const shapesOf = (places: ChartPlace[], pin: Pair, theme: Theme) =>
  places.flatMap((place) => [...pinShapes(place, pin, theme), ...headShapes(place, theme)]);

/**
 * The sizes, in px, that numbers in cells have where the chart has this size, by the name of plotly.js's subplot.
 * A digit is about half an em wide.
 */
export function numberSizes(
  { data, layout }: PlotlyFigure,
  { width, height }: Size,
): [subplot: string, size: number][] {
  return data
    .filter(({ texttemplate }) => texttemplate)
    .map(({ xaxis, zmin, z }) => {
      const suffix = xaxis.slice(1);
      const [x, y] = [layout[`xaxis${suffix}`].domain, layout[`yaxis${suffix}`].domain];
      const characters = zmin === 0 ? 4 : 5;
      const wide = (0.82 * (x[1] - x[0])) / z[0].length / (0.53 * characters); // labels and colour bar take 18 %
      const high = (0.7 * (y[1] - y[0]) * 0.8) / z.length;
      return [`x${suffix}y${suffix}`, Math.min(15, wide * width, high * height)];
    });
}

// ---- places

function placesOf({ panels, grid, widths, heights }: ChartPicture): ChartPlace[] {
  const [wide, high] = [shares(widths, CHART.gap.x), shares(heights, CHART.gap.y)];
  const places: ChartPlace[] = [];
  for (const [r, row] of grid.entries()) {
    for (const [c, index] of row.entries()) {
      if (index === null) continue;
      const panel = complete(panels[index]);
      const left = sum(wide.slice(0, c)) + CHART.gap.x * c;
      const top = 1 - sum(high.slice(0, r)) - CHART.gap.y * r;
      places.push({
        panel,
        rows: panel.shape[0],
        cols: panel.shape[1],
        x: [left, Math.min(1, left + wide[c])],
        y: [Math.max(0, top - high[r]), top],
        suffix: places.length ? String(places.length + 1) : "",
        bottom: grid.slice(r + 1).every((lower) => lower[c] === null),
        leftmost: row.slice(0, c).every((other) => other === null),
      });
    }
  }
  return places;
}

/** Divides the space without gaps in proportion to some sizes. */
function shares(sizes: number[], gap: number) {
  const free = 1 - gap * (sizes.length - 1);
  return sizes.map((size) => (size / sum(sizes)) * free);
}

// ---- matrices

function heatmapOf({ panel, rows, cols, suffix }: ChartPlace, theme: Theme): PlotlyTrace {
  const largest = Math.max(rows, cols);
  const colours = SCALES[theme][panel.scale];
  const isNumbered = panel.numbered && largest <= CHART.numbered;
  const decimals = panel.largest < CELL_NUMBERS.oneDecimalFrom ? 2 : 1;
  const exact = panel.scale === "weights" ? weightText : number;
  return {
    type: "heatmap",
    name: panel.name,
    z: panel.z,
    meta: { rows: panel.rows, cols: panel.cols, ...(panel.reasons && { reasons: panel.reasons }) },
    xaxis: `x${suffix}`,
    yaxis: `y${suffix}`,
    zmin: panel.low,
    zmax: panel.high,
    colorscale: colours.map((colour, n) => [n / (colours.length - 1), colour] as [number, string]),
    showscale: panel.bar ?? false,
    customdata: textsOf(panel.z, (x) => exact(x)),
    hovertemplate: `${panel.name}[%{y}, %{x}] = %{customdata}<extra></extra>`,
    ...(panel.bar && { colorbar: CHART.colourBar }),
    ...(isNumbered && {
      text: textsOf(panel.z, (x) => fixed(x, decimals)),
      texttemplate: "%{text}",
      textfont: { size: 10 },
    }),
    // Hatching would show through between the cells.
    ...(largest <= CHART.spaced && !panel.gaps && { xgap: 1, ygap: 1 }),
  };
}

/** The text of each cell, "" in hidden ones: d3's formats, which Plotly has, round a small number to 0. */
const textsOf = (rows: ArrayLike<number>[], write: (x: number) => string) =>
  rows.map((row) => Array.from(row, (x) => (Number.isNaN(x) ? "" : write(x))));

/** The name, the shape and the range of a matrix, and what its hatchings mean. */
function titleOf({ panel, rows, cols, x, y }: ChartPlace, theme: Theme) {
  const span = panel.seen && panel.cols ? ` · ${panel.seen.map((end) => fixed(end)).join(" … ")}` : "";
  const reasons = panel.gaps ? legend(panel.reasons) : "";
  const said = `${rows} × ${cols}${span}${reasons && ` · ${reasons}`}`;
  return {
    text: `<b>${escape(panel.title)}</b><br><span style='font-size:11px'>${said}</span>`,
    font: { size: 14, color: panel.role ? TEXT_INK[theme][panel.role] : null },
    xref: "paper",
    yref: "paper",
    x: x[0],
    y: y[1],
    xanchor: "left",
    yanchor: "bottom",
    align: "left",
    showarrow: false,
  };
}

/** The operation, in the empty corner above the left operand. */
function operationOf(text: string, places: ChartPlace[]) {
  const [beside] = places;
  const below = places.find(({ leftmost, bottom }) => leftmost && bottom);
  return {
    text: escape(text),
    xref: "paper",
    yref: "paper",
    x: below?.x[0],
    y: (beside.y[0] + beside.y[1]) / 2,
    xanchor: "left",
    showarrow: false,
    font: { size: 15 },
  };
}

const SIDE = 240; // of an image of hatching, which is stretched over its matrix
const LINES = {
  future: "<path d='M0,0V6' stroke-width='4'/>",
  window: "<path d='M0,0H6' stroke-width='4'/>",
  padding: "<path d='M0,0V6M0,0H6' stroke-width='3'/>",
};

/** Hatching behind a matrix, seen in its hidden cells. */
function hatchingOf({ panel, rows, cols, suffix }: ChartPlace, theme: Theme) {
  const boxes = panel.reasons ? reasonBoxes(panel.reasons, panel.shape) : [];
  const [high, wide] = [SIDE / rows, SIDE / cols];
  const paths = (["window", "padding"] as const).map((reason) => {
    const own = boxes.filter((box) => box.reason === reason);
    const path = own.map(
      ({ row, column, rows: down, columns: across }) =>
        `${column * wide},${row * high}h${across * wide}v${down * high}h-${across * wide}z`,
    );
    return [reason, path.join("M")] as const;
  });
  const areas = [["future", `0,0h${SIDE}v${SIDE}h-${SIDE}z`] as const, ...paths.filter(([, path]) => path)];
  const patterns = areas.map(([reason]) => {
    const [ground, line] = HATCH[theme][reason];
    return (
      `<pattern id='${reason}' width='6' height='6' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>` +
      `<rect width='6' height='6' fill='${ground}'/><g stroke='${line}'>${LINES[reason]}</g></pattern>`
    );
  });
  const filled = areas.map(([reason, path]) => `<path d='M${path}' fill='url(#${reason})'/>`);
  const pattern =
    `<svg xmlns='http://www.w3.org/2000/svg' width='${SIDE}' height='${SIDE}'>` +
    `<defs>${patterns.join("")}</defs>${filled.join("")}</svg>`;
  return {
    source: `data:image/svg+xml,${encodeURIComponent(pattern)}`,
    xref: `x${suffix}`,
    yref: `y${suffix}`,
    x: -0.5,
    y: -0.5,
    sizex: cols,
    sizey: rows,
    sizing: "stretch",
    layer: "below",
  };
}

// ---- lines over matrices

function rectangle({ suffix }: ChartPlace, [x0, x1]: Span, [y0, y1]: Span, line: { color: string; width: number }) {
  return { type: "rect", xref: `x${suffix}`, yref: `y${suffix}`, x0, x1, y0, y1, line, fillcolor: CLEAR };
}

/** Outlines of the pinned query and key in every matrix that has them as a row or a column. */
function pinShapes(place: ChartPlace, pin: Pair, theme: Theme) {
  const { panel, rows, cols } = place;
  const pinned: ["query" | "key", number | null][] = [
    ["query", pin.q],
    ["key", pin.k],
  ];
  return pinned.flatMap(([kind, index]) => {
    if (index === null) return [];
    const line = { color: INK[theme][kind], width: 2 };
    const span: Span = [index - 0.5, index + 0.5];
    return [
      ...(panel.rows === kind && index < rows ? [rectangle(place, [-0.5, cols - 0.5], span, line)] : []),
      ...(panel.cols === kind && index < cols ? [rectangle(place, span, [-0.5, rows - 0.5], line)] : []),
    ];
  });
}

/** Lines between concatenated heads, and a frame around the current one. */
function headShapes(place: ChartPlace, theme: Theme) {
  const { panel, rows, cols } = place;
  if (!panel.parts) return [];
  const { width, followed } = panel.parts;
  const whole: Span = [-0.5, rows - 0.5];
  const ends = Array.from({ length: Math.ceil(cols / width) - 1 }, (_, n) => (n + 1) * width - 0.5);
  const lines = ends.map((x) => rectangle(place, [x, x], whole, { color: ruleOf(theme), width: 1 }));
  const frame = { color: INK[theme].attention, width: 2 };
  return [...lines, rectangle(place, [followed * width - 0.5, (followed + 1) * width - 0.5], whole, frame)];
}

const ruleOf = (theme: Theme) => `rgba(${channels(INK[theme].rule).join()},${RULE_OPACITY})`;
