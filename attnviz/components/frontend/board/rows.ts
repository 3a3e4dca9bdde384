// The rows of a matrix in words, for screen readers: row 7 “it”: 9 “bicycle” 97 %, 0 “[CLS]” 1 %, 14 others 2 %.

import { namer, number, percent } from "../core/format.ts";

const LISTED = 512; // rows
const SHARES = 5; // of a row, at most
const TOLD = 0.95; // of a row's sum: the shares that make it up are said
const ROUNDING = 0.01; // how far a row's sum may be from 1: the numbers of Heads have 16 bits

/** The rows of a matrix in words, one after the other; a row with a covered cell is not told. */
export function* rowsSaid(panel: Panel, labels: Labels, covers: IsCovered | null): Generator<string> {
  const [rows, columns] = panel.shape;
  const [row, column] = [namer(panel.rows, labels), namer(panel.cols, labels, panel.ticks)];
  const places = Array.from({ length: columns }, (_, j) => j);
  for (let i = 0; i < Math.min(rows, LISTED); i += 1) {
    const values = panel.data.subarray(i * columns, (i + 1) * columns);
    const isCovered = covers !== null && places.some((j) => covers(i, j));
    yield `row ${row(i)}: ${isCovered ? "covered" : rowSaid(values, places, column, panel.scale)}`;
  }
  if (rows > LISTED) yield `${rows - LISTED} further rows are not listed`;
}

function rowSaid(values: Float32Array, places: number[], name: (j: number) => string, scale: Panel["scale"]) {
  const known = places.filter((j) => Number.isFinite(values[j]));
  const hidden = places.length - known.length;
  const unsaid = hidden ? `; ${hidden} hidden` : "";
  if (!known.length) return "all hidden";
  const sum = known.reduce((all, j) => all + values[j], 0);
  const isShares = scale === "weights" && Math.abs(sum - 1) < ROUNDING && known.every((j) => values[j] >= 0);
  if (isShares) return sharesSaid(values, known, name) + unsaid;
  const [first] = known;
  const smallest = known.reduce((best, j) => (values[j] < values[best] ? j : best), first);
  const largest = known.reduce((best, j) => (values[j] > values[best] ? j : best), first);
  const said = (j: number) => `${number(values[j], 2)} at ${name(j)}`;
  if (hidden && known.length === 1) return said(first) + unsaid;
  if (values[smallest] === values[largest]) return `${number(values[first], 2)} everywhere${unsaid}`;
  return `largest ${said(largest)}, smallest ${said(smallest)}${unsaid}`;
}

/** The largest shares first, until they make up nearly all, and what the others have together. */
function sharesSaid(values: Float32Array, known: number[], name: (j: number) => string) {
  const order = known.filter((j) => values[j] > 0).sort((a, b) => values[b] - values[a]);
  const said: string[] = [];
  let told = 0;
  for (const j of order.slice(0, SHARES)) {
    if (told >= TOLD) break;
    said.push(`${name(j)} ${percent(values[j])}`);
    told += values[j];
  }
  const rest = order.slice(said.length).reduce((all, j) => all + values[j], 0);
  const others = known.length - said.length;
  if (others) said.push(`${others} ${others > 1 ? "others" : "other"} ${percent(rest)}`);
  return said.join(", ");
}
