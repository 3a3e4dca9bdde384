// Steps that compute each cell from the cell in the same place: scaled scores, the mask, token + position.

import { number } from "../core/format.ts";
import { blankCells, cell, firstOf, rowOf } from "./order.ts";
import {
  at,
  columnName,
  decimalsOf,
  eased,
  factor,
  isByRows,
  paceOf,
  panelOf,
  rowMs,
  rowName,
  shown,
  within,
} from "./words.ts";

const FIRST = 1500; // ms
const NEXT = { slow: 520, few: 16, rest: 2500 };
const LANDED = 0.7; // of a beat: then the cell is there

/** `say(q, k)` is the arithmetic of a cell; `pairs(q, k)` are other cells that it is computed from. */
export type ByCell = {
  sources: Panel[];
  result: Panel;
  say: (i: number, j: number) => Said[];
  pairs?: (i: number, j: number) => LitCells[];
};

/** Scaled, capped, biased, and masked. */
export function cellsBeats({ step, picture, scale, hidden, cap, example }: Played): Beat[] {
  const result = panelOf(step, picture);
  const source = SOURCES[step].map((name) => panelOf(name, picture)).find((panel) => panel !== null);
  if (!result || !source) return [];
  if (step === "biased") {
    const sources = [source, ...picture.panels.filter((panel) => panel !== source && panel !== result)];
    return byCell({ sources, result, say: adding(sources, result) }, picture.labels, example);
  }
  const sayings: Record<string, () => ByCell["say"]> = {
    scaled: () => scaling(source, result, scale),
    capped: () => capping(source, result, cap ?? 1),
    masked: () => masking(source, result, hidden),
  };
  return byCell({ sources: [source], result, say: sayings[step]() }, picture.labels, example);
}

/** The matrix that a step computes its own from: the first of these that is in its picture. */
const SOURCES: Record<string, string[]> = {
  scaled: ["scores"],
  capped: ["scaled"],
  biased: ["capped", "scaled"],
  masked: ["biased", "capped", "scaled"],
};

/** Token + position. */
export function embeddingsBeats({ picture, example }: Played): Beat[] {
  const [token, position, result] = ["token_embeddings", "positions", "embeddings"].map((one) => panelOf(one, picture));
  if (!token || !position || !result) return [];
  const say: ByCell["say"] = (i, j) => [
    [`${factor(at(token, i, j))} + ${factor(at(position, i, j))} = ${shown(at(result, i, j))}`],
  ];
  return byCell({ sources: [token, position], result, say }, picture.labels, { q: example.q, k: null });
}

function scaling(source: Panel, result: Panel, scale: number): ByCell["say"] {
  const by = String(Number(scale.toPrecision(4)));
  return (i, j) => [[`${factor(at(source, i, j))} × ${by} = `], [shown(at(result, i, j)), "attention"]];
}

function capping(source: Panel, result: Panel, cap: number): ByCell["say"] {
  const c = String(Number(cap.toPrecision(4)));
  return (i, j) => [[`${c} × tanh(${shown(at(source, i, j))} / ${c}) = `], [shown(at(result, i, j)), "attention"]];
}

function adding(sources: Panel[], result: Panel): ByCell["say"] {
  return (i, j) => {
    const terms = sources.map((panel) => at(panel, i, j));
    const sum = at(result, i, j);
    if (Number.isNaN(sum)) return [[`${shown(terms[0])}: outside of the window, so no bias is shown`]];
    const digits = Math.max(...[...terms, sum].map((x) => decimalsOf([x]))); // the same of all, so that they add up
    return [[`${terms.map((x) => factor(x, digits)).join(" + ")} = `], [shown(sum, digits), "attention"]];
  };
}

function masking(source: Panel, result: Panel, hidden: number): ByCell["say"] {
  return (i, j) => {
    const [before, after] = [at(source, i, j), at(result, i, j)];
    const what = Number.isNaN(before) ? "It" : shown(before);
    if (Number.isNaN(after)) return [[`${what} is hidden: `], [number(hidden, 1), "attention"]];
    if (before === after) return [[`${shown(before)} stays: the query may look there`]];
    return [[`${factor(before)} + ${factor(after - before)} = `], [shown(after), "attention"]];
  };
}

export function byCell(parts: ByCell, labels: Labels, { q, k }: Pair): Beat[] {
  const { result } = parts;
  const [rows, columns] = result.shape;
  if (!rows || !columns) return [];
  const [row, column] = [Math.min(q ?? 0, rows - 1), Math.min(k ?? 0, columns - 1)];
  const [down, across] = [firstOf(rows, row), firstOf(columns, column)];
  const first = across.map((j, n) => ({
    ms: n ? paceOf(n, columns, NEXT) : FIRST,
    isExample: n === 0,
    frame: (share: number) => {
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

/** One cell, and those that it is computed from. */
function computed({ sources, result, say, pairs }: ByCell, labels: Labels, i: number, j: number) {
  const own: LitCells[] = [...sources, result].flatMap(({ name, shape, role }) => [
    { panel: name, box: rowOf(i, shape[1]), ink: result.rows === "query" ? "query" : (role ?? "text") },
    { panel: name, box: cell(i, j), ink: "attention", strong: true },
  ]);
  const lit = [...own, ...(pairs?.(i, j) ?? [])];
  const says: Said[] = [
    [rowName(labels, result.rows, i), "query"],
    [" · "],
    [columnName(labels, result.cols, j), result.cols === "key" ? "key" : "text"],
    [": "],
    ...say(i, j),
  ];
  return { lit, says };
}

function flights({ sources, result }: ByCell, i: number, j: number, along: number): Flight[] {
  return sources.map((source) => ({
    from: { panel: source.name, box: cell(i, j) },
    to: { panel: result.name, box: cell(i, j) },
    along,
    value: at(source, i, j),
    coloured: source.name,
  }));
}

/** A row of the others: cell by cell, or of a large matrix at once. */
function rowBeats(parts: ByCell, labels: Labels, done: number[], i: number): Beat[] {
  const { name, shape } = parts.result;
  const ms = rowMs(shape[0]);
  const blank = (count: number) => ({
    [name]: blankCells(
      shape,
      done,
      i,
      Array.from({ length: count }, (_, j) => j),
    ),
  });
  const says: Said[] = [["all other cells the same way"]];
  const lit = [...parts.sources, parts.result].map((panel) => ({
    panel: panel.name,
    box: rowOf(i, shape[1]),
    ink: "query",
  })) as LitCells[];
  if (isByRows(shape)) return [{ ms, frame: (share) => ({ lit, says, blank: blank(Math.round(share * shape[1])) }) }];
  return Array.from({ length: shape[1] }, (_, j) => ({
    ms: ms / shape[1],
    frame: (share: number) => ({
      ...(share === 1 ? computed(parts, labels, i, j) : { lit, says }),
      blank: blank(j + 1),
    }),
  }));
}
