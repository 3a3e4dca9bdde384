// The picture of a step: what a document says of it, filled with a head's matrices, as attnviz/figures does in Python.

import { colourLimit, darkenedLimit, darkens, endText } from "../core/colour_limit.ts";
import { describe, isByCell } from "../board/panel.ts";
import { reasonsOf } from "../core/mask_reasons.ts";
import { matricesOf } from "./matrices.ts";
import type { HeadMatrices } from "./matrices.ts";
import type { PanelSpec, PictureSpec, WalkDocument } from "../core/document.ts";

/** `own` is the head's place */
export type PictureSettings = { own: number; stretch: string; limit: number | null };

/**
 * The picture of a step, with its text alternative; null where the step has none. Where arrays must be fetched first,
 * their names.
 * @param name the step's
 * @param options whether the colours of weights are darkened, where those of scores end, and whether a row is to be
 * guessed, of which nothing may be told
 */
export function pictureOf(
  document: WalkDocument,
  name: string,
  head: number,
  { stretch = "0", limit = null, predict = false }: { stretch?: string; limit?: number | null; predict?: boolean } = {},
): (BoardPicture & { alt: string }) | { needs: string[] } | null {
  const { header } = document;
  const step = header.steps.find((one) => one.name === name);
  const picture = step?.picture;
  if (!picture) return null;
  const matrices = matricesOf(document, head);
  const needs = [...new Set(shownIn(picture).flatMap((one) => matrices.missing(one)))];
  if (needs.length) return { needs };
  const own = header.heads.indexOf(head);
  const panels = picture.panels.map((panel) => filled(panel, matrices, { own, stretch, limit }));
  return {
    panels,
    grid: picture.grid,
    widths: picture.widths,
    heights: picture.heights,
    products: products(picture, matrices),
    between: picture.between,
    labels: labelsOf(document, name),
    alt: pictureText(
      picture.grid.flatMap((row) => row.flatMap((n) => (n === null ? [] : [panels[n]]))),
      predict && step.can_be_covered ? name : null,
    ),
  };
}

/**
 * What the rows and columns of a step's matrices are, by the kinds of axes: tokens, and the entries of a vocabulary.
 * @param name the step's
 */
export function labelsOf({ header }: WalkDocument, name: string): Labels {
  const { picture } = header.steps.find((one) => one.name === name) ?? {};
  const ticks = picture?.panels.find(({ cols }) => cols === "vocabulary")?.ticks ?? {};
  const vocabulary = Object.values(ticks); // in the order of the columns, as all keys that are whole numbers
  const tokens = { query: header.query.labels, key: header.key.labels };
  return vocabulary.length ? { ...tokens, vocabulary } : tokens;
}

/** Where a head's colours of weights end when they are darkened; null if nowhere, or if its weights are not there. */
export function darkened(document: WalkDocument, head: number) {
  const weights = matricesOf(document, head).get("weights");
  if (!weights) return null;
  const [, columns] = weights.shape;
  const end = darkenedLimit([weights.data], columns);
  return end < 1 ? endText(end) : null;
}

/** Of a text that may differ by head, the head's own. */
export const ofHead = <T extends SaidText>(text: T | T[], own: number): T => (Array.isArray(text) ? text[own] : text);

/** The names of all matrices that a picture needs. */
function shownIn({ panels, products: made, operations }: PictureSpec) {
  const tables = Object.values(operations).flatMap(({ weight, bias, root, cos, sin, rows }) => [
    weight,
    bias,
    root,
    cos,
    sin,
    rows ?? null,
  ]);
  const vectors = [...Object.values(made).map(({ bias }) => bias), ...tables].filter((name) => name !== null);
  return [...panels.flatMap(({ name, limit }) => [name, ...(Array.isArray(limit) ? limit : [])]), ...vectors];
}

/** The matrices that may have no number in cells that the mask hides. */
const WITH_HIDDEN_CELLS = new Set(["position_bias", "biased", "masked", "weights"]);

function filled(panel: PanelSpec, matrices: HeadMatrices, { own, stretch, limit: end }: PictureSettings): Panel {
  const { name, scale, ticks, part_width: width, made_from: from, stretched } = panel;
  const { data, shape } = matrixOf(matrices, name);
  const isOfScores = panel.role === "attention" && scale === "signed";
  const dark = stretched !== "" && darkens(stretch, shape[1]) ? darkenedLimit([data], shape[1]) : 1;
  const limit = dark < 1 ? dark : (isOfScores && end) || limitOf(panel, matrices);
  return {
    name,
    title: dark < 1 ? stretched.replace("{}", endText(limit)) : ofHead(panel.title, own),
    role: panel.role,
    rows: panel.rows,
    cols: panel.cols,
    low: scale === "signed" ? -limit : 0,
    high: limit,
    scale,
    numbered: panel.numbered,
    bar: panel.bar,
    ...(WITH_HIDDEN_CELLS.has(name) && { reasons: reasonsOf(matrices.document.header) }),
    ...(from && { made_from: from }),
    ...(panel.cols !== "vocabulary" && Object.keys(ticks).length && { ticks }),
    ...(width && { parts: { width, followed: matrices.head } }),
    data,
    shape: shape as [number, number],
  };
}

function matrixOf(matrices: HeadMatrices, name: string) {
  const found = matrices.get(name);
  if (!found) throw new Error(`the document has no ${name}`);
  return found;
}

/** The end of a panel's colours. */
function limitOf({ name, limit }: PanelSpec, matrices: HeadMatrices) {
  if (typeof limit === "number") return limit;
  return colourLimit((limit ?? [name]).map((one) => matrixOf(matrices, one).data));
}

function products({ products: made, operations }: PictureSpec, matrices: HeadMatrices): Products {
  const vector = (name: string | null) => (name === null ? null : Array.from(matrixOf(matrices, name).data));
  const multiplied = Object.entries(made).map(([result, { left, right, bias }]) => [
    result,
    { left, right, bias: vector(bias) },
  ]);
  const others = Object.entries(operations).map(([result, one]) => [
    result,
    {
      ...{ ...one, weight: vector(one.weight), bias: vector(one.bias) },
      ...{ root: vector(one.root), cos: vector(one.cos), sin: vector(one.sin), rows: vector(one.rows ?? null) },
    },
  ]);
  return Object.fromEntries([...multiplied, ...others]);
}

/** The text alternative of a picture, one sentence, without the ranges of what is covered. */
function pictureText(panels: Panel[], result: string | null) {
  const guessed = result === null ? [] : covered(panels, result);
  return `Heatmaps: ${panels.map((panel) => describe(panel, guessed.includes(panel))).join("; ")}.`;
}

/**
 * The matrices that a covered row is covered in: the result, and those that would give its row away. Beside a sink's
 * share the sum of a row is one of them: what the sink leaves.
 */
export function covered(panels: Panel[], name: string) {
  const result = panels.find((one) => one.name === name);
  const shares = panels.some((one) => one.name === "sink") ? ["sink", "row_sum"] : [];
  const givesAway = (one: Panel) => isByCell(one) || shares.includes(one.name);
  return panels.filter((one) => one === result || (result && isByCell(result) && givesAway(one)));
}
