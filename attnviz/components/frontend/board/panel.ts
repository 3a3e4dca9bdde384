// Values computed once from a matrix's numbers, and its text alternative.

import { AXIS_TITLES, CELL_NUMBERS } from "../core/constants.ts";
import { fixed, whole } from "../core/format.ts";

export type Seen = Pick<CompletePanel, "z" | "gaps" | "seen" | "largest">;

const known: WeakMap<Float32Array, Seen> = new WeakMap();

/** A panel with the values for its drawing that are computed from its numbers. */
export function complete(panel: Panel): CompletePanel {
  const found = known.get(panel.data) ?? lookAt(panel.data, panel.shape);
  known.set(panel.data, found);
  return { ...panel, ...found };
}

function lookAt(data: Float32Array, [rows, cols]: [number, number]): Seen {
  const z = Array.from({ length: rows }, (_, i) => data.subarray(i * cols, (i + 1) * cols));
  let [low, high, gaps] = [Infinity, -Infinity, false];
  for (let n = 0; n < data.length; n += 1) {
    const x = data[n];
    if (x < low) low = x;
    if (x > high) high = x;
    if (x !== x) gaps = true; // NaN
  }
  if (high < low) return { z, gaps, seen: null, largest: 0 };
  return { z, gaps, seen: [low, high], largest: Math.max(Math.abs(low), Math.abs(high)) };
}

/** The name of an axis; none where its kind has none. */
export const axisName = (kind: string): string | undefined => (AXIS_TITLES as Record<string, string>)[kind];

/** The kind that names the rows of a matrix: beside a vocabulary, no query looks from them. */
export const rowKind = ({ rows, cols }: Pick<Panel, "rows" | "cols">) =>
  rows === "query" && cols === "vocabulary" ? "position" : rows;

/** Whether a matrix has a cell for each query and key. */
export const isByCell = ({ rows, cols }: Pick<Panel, "rows" | "cols">) => rows === "query" && cols === "key";

const said = (what: string, name: string | undefined) => (name ? `${what}: ${name}` : what);

/** "16 rows: query (from)" */
export const axisText = (count: number, noun: string, name: string | undefined) =>
  said(`${whole(count)} ${noun}${count === 1 ? "" : "s"}`, name);

/** "rows: query (from)" */
export const rowsText = (panel: Panel) => said("rows", panel.axes?.[0] ?? axisName(rowKind(panel)));

/**
 * A matrix in words, for screen readers: its title, what its rows and columns are, and its range. Python says the same
 * (figures/style.py, matrix_text).
 * @param isCovered whether a row is to be guessed: the range might give it away
 */
export function describe(panel: Panel, isCovered = false) {
  const { title, cols, axes, shape } = panel;
  const names = axes ?? [axisName(rowKind(panel)), axisName(cols)];
  const seen = isCovered ? null : complete(panel).seen;
  return [
    title,
    axisText(shape[0], "row", names[0]),
    axisText(shape[1], "column", names[1]),
    ...(seen ? [`numbers from ${fixed(seen[0])} to ${fixed(seen[1])}`] : []),
  ].join(", ");
}

/** What stands before the numbers at the upper and the lower end of a colour bar: those beyond have its last colour. */
export function signsOf({ seen, low, high }: CompletePanel) {
  const [smallest, largest] = seen ?? [0, 0];
  const { beyond } = CELL_NUMBERS;
  return [largest > beyond * high ? "≥" : "", smallest < beyond * low ? "≤" : ""];
}
