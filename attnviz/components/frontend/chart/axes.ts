// The axes of a chart's matrices, their labels, and the margins that these need. See figure.ts.

import { axisName, rowKind } from "../board/panel.ts";
import { TEXT_INK } from "../core/colours.ts";
import { CHART, TURN } from "../core/constants.ts";
import type { ChartPlace } from "./figure.ts";

const { margins: MARGINS, needed: NEEDED, usual: USUAL, longest: LONGEST } = CHART;

/** Margins in pixels that fit the labels. Plotly's automargin would lay out every figure three times. */
export function marginsOf(places: ChartPlace[], labels: Labels) {
  const longest = (kind: string) =>
    labels[kind]?.length ? Math.max(...labels[kind].map((text) => Math.min(LONGEST, letters(text).length))) : 3;
  const beside = places.filter(({ leftmost }) => leftmost).map(({ panel }) => longest(panel.rows));
  const below = places.filter(({ bottom }) => bottom).map(({ panel: { cols } }) => cols);
  const left = beside.length ? Math.max(...beside) : 3;
  const bottom = Math.max(
    0,
    ...below.map((kind) => (labels[kind] ? MARGINS.slant * MARGINS.letter * longest(kind) : MARGINS.numbers)),
  );
  return {
    l: MARGINS.left + Math.ceil(MARGINS.letter * left),
    r: places.some(({ panel }) => panel.bar) ? MARGINS.bar : MARGINS.right,
    t: MARGINS.top,
    b: MARGINS.bottom + Math.ceil(bottom),
  };
}

export function xAxis({ panel, cols, x, suffix, bottom }: ChartPlace, labels: Labels, theme: Theme) {
  const tokens = labels[panel.cols];
  const named = Object.entries(panel.ticks ?? {});
  const needed = tokens ? NEEDED.tokens : NEEDED.numbers;
  const ticks = named.length ? named : ticksOf(tokens, cols, USUAL.width * (x[1] - x[0]), needed);
  return {
    ...axisOf(panel.cols, ticks, cols, { theme, shown: bottom && panel.cols !== "" }),
    domain: x,
    anchor: `y${suffix}`,
    range: [-0.5, cols - 0.5],
    tickangle: tokens ? -TURN : 0,
  };
}

export function yAxis({ panel, rows, y, suffix, leftmost }: ChartPlace, labels: Labels, theme: Theme) {
  const height = USUAL.height * (y[1] - y[0]);
  const ticks = ticksOf(labels[panel.rows], rows, height, NEEDED.rows);
  return {
    ...axisOf(rowKind(panel), ticks, rows, { theme, shown: leftmost }),
    tickfont: { size: Math.max(8, Math.min(12, Math.trunc(height / Math.max(1, ticks.length)))) },
    domain: y,
    anchor: `x${suffix}`,
    range: [rows - 0.5, -0.5], // row 0 on top
  };
}

function axisOf(
  kind: string,
  ticks: [string, string][],
  size: number,
  { theme, shown }: { theme: Theme; shown: boolean },
) {
  return {
    tickvals: ticks.map(([at]) => Number(at)),
    ticktext: ticks.map(([, text]) => escape(shorten(text))),
    tickfont: { size: size <= 32 ? 12 : 9 },
    showticklabels: shown,
    ticks: "",
    showgrid: false,
    zeroline: false,
    showline: false,
    automargin: false,
    title: {
      text: shown ? (axisName(kind) ?? "") : "",
      font: { size: 12, color: kind === "query" || kind === "key" ? TEXT_INK[theme][kind] : null },
      standoff: 6,
    },
  };
}

/**
 * A label for every position if each has the `needed` pixels on an axis of this length, else for every 2nd, 4th, ...
 */
function ticksOf(tokens: string[] | undefined, size: number, length: number, needed: number): [string, string][] {
  let every = 1;
  while (every < size && (length / size) * every < needed) every *= 2;
  const isNumbered = every >= Math.ceil(size / 64) && every > 1; // with labels left out, numbers identify the rest
  return Array.from({ length: Math.ceil(size / every) }, (_, n) => {
    const at = String(n * every);
    const token = tokens?.[n * every];
    if (token === undefined) return [at, at];
    return [at, isNumbered ? `${at} ${token}` : token];
  });
}

/** Escapes a text for plotly.js, which interprets some HTML. */
export const escape = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** The letters of a text as Python counts them: a character beyond 16 bits is one. */
const letters = (text: string) => Array.from(text);

/** Shortens a long token in the middle: its end is often more informative. */
function shorten(token: string) {
  const all = letters(token);
  if (all.length <= LONGEST) return token;
  const keep = LONGEST - 1;
  const after = Math.floor(keep / 2);
  return `${all.slice(0, keep - after).join("")}…${all.slice(all.length - after).join("")}`;
}
