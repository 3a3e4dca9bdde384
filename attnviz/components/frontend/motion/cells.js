// Steps that compute each cell from the cell in the same place: scaled scores, the mask, token + position.

import { number } from "../core/format.js";
import { blankCells, cell, firstOf, rowOf } from "./order.js";
import { at, columnName, eased, factor, isByRows, paceOf, panelOf, rowMs, rowName, shown, within } from "./words.js";

const FIRST = 1500; // ms
const NEXT = { slow: 520, few: 16, rest: 2500 };
const LANDED = 0.7; // of a beat: then the cell is there

/**
 * `say(q, k)` is the arithmetic of a cell.
 * @typedef {{ sources: Panel[], result: Panel, say: (i: number, j: number) => Said[] }} ByCell
 */

/** Scaled, and masked. @param {Played} played @returns {Beat[]} */
export function cellsBeats({ step, picture, scale, hidden, example }) {
  const result = panelOf(step, picture);
  const source = panelOf(step === "scaled" ? "scores" : "scaled", picture);
  if (!result || !source) return [];
  const say = step === "scaled" ? scaling(source, result, scale) : masking(source, result, hidden);
  return byCell({ sources: [source], result, say }, picture.labels, example);
}

/** Token + position. @param {Played} played @returns {Beat[]} */
export function embeddingsBeats({ picture, example }) {
  const [token, position, result] = ["token_embeddings", "positions", "embeddings"].map((one) => panelOf(one, picture));
  if (!token || !position || !result) return [];
  /** @type {ByCell["say"]} */
  const say = (i, j) => [[`${factor(at(token, i, j))} + ${factor(at(position, i, j))} = ${shown(at(result, i, j))}`]];
  return byCell({ sources: [token, position], result, say }, picture.labels, { q: example.q, k: null });
}

/** @param {Panel} source @param {Panel} result @param {number} scale @returns {ByCell["say"]} */
function scaling(source, result, scale) {
  const by = String(Number(scale.toPrecision(4)));
  return (i, j) => [[`${factor(at(source, i, j))} × ${by} = `], [shown(at(result, i, j)), "attention"]];
}

/** @param {Panel} source @param {Panel} result @param {number} hidden @returns {ByCell["say"]} */
function masking(source, result, hidden) {
  return (i, j) => {
    const [before, after] = [at(source, i, j), at(result, i, j)];
    if (Number.isNaN(after)) return [[`${shown(before)} is hidden: `], [number(hidden, 1), "attention"]];
    if (before === after) return [[`${shown(before)} stays: the query may look there`]];
    return [[`${factor(before)} + ${factor(after - before)} = `], [shown(after), "attention"]];
  };
}

/** @param {ByCell} parts @param {Labels} labels @param {Pair} example @returns {Beat[]} */
export function byCell(parts, labels, { q, k }) {
  const { result } = parts;
  const [rows, columns] = result.shape;
  if (!rows || !columns) return [];
  const [row, column] = [Math.min(q ?? 0, rows - 1), Math.min(k ?? 0, columns - 1)];
  const [down, across] = [firstOf(rows, row), firstOf(columns, column)];
  const first = across.map((j, n) => ({
    ms: n ? paceOf(n, columns, NEXT) : FIRST,
    frame: (/** @type {number} */ share) => {
      const isThere = share >= LANDED;
      return {
        ...computed(parts, labels, row, j),
        flights: isThere ? [] : flights(parts, row, j, eased(within(share, [0.1, LANDED]))),
        blank: { [result.name]: blankCells(result.shape, [], row, across.slice(0, isThere ? n + 1 : n)) },
      };
    },
  }));
  return [...first, ...down.slice(1).flatMap((i, n) => rowBeats(parts, labels, down.slice(0, n + 1), i))];
}

/**
 * One cell, and those that it is computed from.
 * @param {ByCell} parts @param {Labels} labels @param {number} i @param {number} j
 */
function computed({ sources, result, say }, labels, i, j) {
  /** @type {LitCells[]} */
  const lit = [...sources, result].flatMap(({ name, shape, role }) => [
    { panel: name, box: rowOf(i, shape[1]), ink: result.rows === "query" ? "query" : (role ?? "text") },
    { panel: name, box: cell(i, j), ink: "attention", strong: true },
  ]);
  /** @type {Said[]} */
  const says = [
    [rowName(labels, result.rows, i), "query"],
    [" · "],
    [columnName(labels, result.cols, j), result.cols === "key" ? "key" : "text"],
    [": "],
    ...say(i, j),
  ];
  return { lit, says };
}

/** @param {ByCell} parts @param {number} i @param {number} j @param {number} along @returns {Flight[]} */
function flights({ sources, result }, i, j, along) {
  return sources.map((source) => ({
    from: { panel: source.name, box: cell(i, j) },
    to: { panel: result.name, box: cell(i, j) },
    along,
    value: at(source, i, j),
    coloured: source.name,
  }));
}

/**
 * A row of the others: cell by cell, or of a large matrix at once.
 * @param {ByCell} parts @param {Labels} labels @param {number[]} done @param {number} i @returns {Beat[]}
 */
function rowBeats(parts, labels, done, i) {
  const { name, shape } = parts.result;
  const ms = rowMs(shape[0]);
  /** @param {number} count */
  const blank = (count) => ({
    [name]: blankCells(
      shape,
      done,
      i,
      Array.from({ length: count }, (_, j) => j),
    ),
  });
  /** @type {Said[]} */
  const says = [["all other cells the same way"]];
  const lit = /** @type {LitCells[]} */ (
    [...parts.sources, parts.result].map((panel) => ({ panel: panel.name, box: rowOf(i, shape[1]), ink: "query" }))
  );
  if (isByRows(shape)) return [{ ms, frame: (share) => ({ lit, says, blank: blank(Math.round(share * shape[1])) }) }];
  return Array.from({ length: shape[1] }, (_, j) => ({
    ms: ms / shape[1],
    frame: (/** @type {number} */ share) => ({
      ...(share === 1 ? computed(parts, labels, i, j) : { lit, says }),
      blank: blank(j + 1),
    }),
  }));
}
