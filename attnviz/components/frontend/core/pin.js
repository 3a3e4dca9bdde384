// The pinned cell: a row and a column, each a position or null.

/** @type {Pair} */
export const NOTHING = { q: null, k: null };

/** @param {Pair} a @param {Pair} b */
export const samePin = (a, b) => a.q === b.q && a.k === b.k;
