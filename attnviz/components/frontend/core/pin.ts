// The pinned cell: a row and a column, each a position or null.

export const NOTHING: Pair = { q: null, k: null };

export const samePin = (a: Pair, b: Pair) => a.q === b.q && a.k === b.k;
