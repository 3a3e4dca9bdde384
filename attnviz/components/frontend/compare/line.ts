// The line under the picture: the hovered or pinned cell, its numbers in A and B, and their difference.

import { COMPARED_LEVELS, MASK_REASONS } from "../core/constants.ts";
import { fixed, number, operand } from "../core/format.ts";
import { reasonOf } from "../core/mask_reasons.ts";
import { span, template } from "../core/template.ts";
import { leastType } from "../core/type.ts";

const HALL = 2; // decimals of what a hall reads

/** Why a cell has no number on one side, or null where it may have one. */
export function missing({ own }: CompareHeader, side: string, { i, j }: { i: number; j: number }) {
  const [row, column] = [own[side].query[i] === null, own[side].key[j] === null];
  if (row && column) return "has neither";
  if (row) return "has no such row";
  return column ? "has no such column" : null;
}

/**
 * The nodes of the line for the cell `at`; `numbers` are that cell's and its row's, NaN where there is none.
 */
export function parts(header: CompareHeader, at: { i: number; j: number }, numbers: Record<string, number>) {
  const { labels } = header;
  const nodes = [
    span("place", span("query", `${at.i} ${labels.query[at.i]}`), " → ", span("key", `${at.j} ${labels.key[at.j]}`)),
    span("sum", ...sum(header, at, numbers)),
  ];
  if (!Number.isNaN(numbers.divergence)) {
    nodes.push(span("quiet", `the two rows: ${read(numbers.divergence)} bits apart`));
  }
  if (header.ranges.difference) nodes.push(span("quiet", `each to ±${precision(header)}`));
  return nodes;
}

/** The nodes of the line for a whole row. */
export function rowParts({ labels }: CompareHeader, i: number, { divergence }: Record<string, number>) {
  const place = span("place", span("query", `${i} ${labels.query[i]}`));
  if (Number.isNaN(divergence)) return [place, span("quiet", "A and B do not both have weights here")];
  return [
    place,
    span("sum", "Jensen-Shannon divergence of A's row and B's: ", shown("divergence", divergence), " bits"),
  ];
}

/** What a masked cell of one side holds, and why it is masked. */
function masked({ hidden, mask_reasons: reasons }: CompareHeader, side: string, { i, j }: { i: number; j: number }) {
  const reason = reasons?.[side] ? reasonOf(reasons[side], i, j) : null;
  return hidden && reason ? hidden.replace(/\)$/, `: ${MASK_REASONS[reason].words})`) : hidden;
}

/** `A 0.1234 − B 0.0345 = 0.0889`, or what each side has instead of a number. */
function sum(header: CompareHeader, at: { i: number; j: number }, numbers: Record<string, number>) {
  const write = (name: string) => {
    const x = numbers[name];
    if (!Number.isNaN(x)) return shown(name, x);
    return span("quiet", missing(header, name, at) ?? masked(header, name, at) ?? "no number");
  };
  const [a, b] = [write("a"), write("b")];
  const { difference } = numbers;
  if (Number.isNaN(difference)) return [span("side", "A "), a, " · ", span("side", "B "), b];
  return [span("side", "A "), a, " − ", span("side", "B "), b, " = ", shown("difference", difference)];
}

function shown(name: string, x: number) {
  const digits = { title: String(x), dataset: { of: name, value: x, result: "" } };
  return template("b", { class: "result", ...digits }, name === "b" ? bracketed(x) : read(x));
}

/** A number for who reads it: in lecture mode, from the last row. */
const read = (x: number) => (leastType() ? fixed(x, HALL) : number(x));

const bracketed = (x: number) => (leastType() ? read(x).replace(/^−.*/, "($&)") : operand(x, 4));

/** How far a number that was sent in 16 bits may be from its float32. */
function precision({ ranges }: CompareHeader) {
  const widest = Math.max(...Object.values(ranges).map((range) => (range ? range[1] - range[0] : 0)));
  return number(widest / (2 * COMPARED_LEVELS.full), 1);
}
