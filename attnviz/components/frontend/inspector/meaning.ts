// What a cell of a matrix is, in words and real numbers, where its name alone does not say it.

import { equals } from "./chain.ts";
import { positionsSaid } from "../core/buckets.ts";
import { number, operand, quoted } from "../core/format.ts";
import { result } from "../core/template.ts";
import type { Matrix } from "../core/attention.ts";
import type { Child } from "../core/template.ts";

const BY_DISTANCE = ["position_bias", "content_to_position", "position_to_content"];
const AVERAGES = ["by_matrix", "by_softmax", "by_data"];

/**
 * @param pointed `loop` holds what a way's averages are compared with
 * @returns nothing where the name says it
 */
export function meaningOf({
  at: { i, j },
  panel,
  panels,
  labels,
  loop = null,
}: {
  at: Cell;
  panel: DrawnPanel;
  panels: DrawnPanel[];
  labels: Labels;
  loop?: Matrix | null;
}): Child[] {
  const token = quoted(labels[panel.rows]?.[i] ?? "");
  if (panel.name === "row_sum") return [`sum of row ${token}: its weights together`];
  if (panel.name === "sinks") return [`the sink’s score in row ${token}, beside those of the keys`];
  if (panel.name === "sink") return [`the share that the sink takes of row ${token}; it gives nothing`];
  if (BY_DISTANCE.includes(panel.name)) return [distanceOf(i, j)];
  if (panel.name === "token_embeddings") return [`token ${token}, dimension ${j}`];
  if (panel.name === "positions") return [`position ${i}, dimension ${j}`];
  if (panel.name === "embeddings") return sumOf(panels, i, j);
  if (loop && AVERAGES.includes(panel.name)) return besideLoop(loop, panel.z[i][j], i, j);
  if (!panel.parts) return [];
  return [`head ${Math.floor(j / panel.parts)}, dimension ${j % panel.parts}`];
}

/** How far key j is from query i. */
function distanceOf(i: number, j: number) {
  if (i === j) return `key ${j} is at the position of query ${i}`;
  const distance = Math.abs(j - i);
  return `key ${j} is ${positionsSaid({ first: distance, last: distance }, j > i)} query ${i}`;
}

/** An average, and how far from the loop's it is. */
function besideLoop({ data, shape }: Matrix, value: number, i: number, j: number) {
  const other = data[i * shape[1] + j];
  const gap = Math.abs(value - other);
  return [`here ${number(value, 8)}, the loop ${number(other, 8)}: `, result(gap, number(gap, 2)), " apart"];
}

/** An embedding as the sum that it is; nothing where its parts are not shown. */
function sumOf(panels: DrawnPanel[], i: number, j: number) {
  const [token, position] = ["token_embeddings", "positions"].map((name) => panels.find((one) => one.name === name));
  if (!token || !position) return [];
  const [a, b] = [token.z[i][j], position.z[i][j]];
  return [`token + position = ${number(a)} + ${operand(b, 4)} `, equals(a + b)];
}
