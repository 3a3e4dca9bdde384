// The transition between the pictures of two steps, a pure function of both pictures and t. Going back plays it
// in reverse.

import { mixPixels } from "./image.ts";

/** The progress of cell (i, j) at t, by the pace of the new matrix. */
const PACES: Record<Pace, (t: number, count: CellCount) => (i: number, j: number) => number> = {
  // From the right, as a mask slides over: a column changes when its edge passes.
  columns:
    (t, { cols }) =>
    (i, j) =>
      Math.min(1, Math.max(0, t * (cols + 1) - (cols - 1 - j))),
  // From the top, as the softmax normalises: row by row.
  rows:
    (t, { rows }) =>
    (i) =>
      Math.min(1, Math.max(0, (t - (0.6 * i) / rows) / 0.4)),
  even: (t) => () => t,
};

/** Pairs the places of two pictures: {from, to}, either null where a matrix comes or goes. */
export function pairs(before: Place[], after: Place[]): PlacePair[] {
  const named = new Map(before.map((place) => [place.panel.name, place]));
  const used: Set<Place> = new Set();
  const found = after.map((to) => {
    const own = named.get(to.panel.name);
    const parent = named.get(to.panel.made_from?.name ?? "");
    const from = own ?? (parent && same(parent.panel.shape, to.panel.shape) ? parent : null);
    if (from && same(from.panel.shape, to.panel.shape)) {
      used.add(from);
      return { from, to };
    }
    return { from: null, to };
  });
  return [...found, ...before.filter((place) => !used.has(place)).map((from) => ({ from, to: null }))];
}

/** One pair at t, from 0 to 1: its box, its opacity, and which cells it shows. */
export function between({ from, to }: PlacePair, t: number): Place {
  if (!from) return { ...to, alpha: Math.max(0, 2 * t - 1), numbers: late(t) };
  if (!to) return { ...from, alpha: Math.max(0, 1 - 2 * t), numbers: late(1 - t) };
  const along = t * t * (3 - 2 * t);
  const on = (side: keyof Box) => from[side] + (to[side] - from[side]) * along;
  const box = { x: on("x"), y: on("y"), width: on("width"), height: on("height") };
  const near = t < 0.5 ? from : to;
  // A matrix that grows out of another one starts on top of it: its words come later.
  const words = from.panel.name === to.panel.name ? 1 : Math.max(0, 2 * t - 1);
  return { ...near, ...box, alpha: 1, words, numbers: t < 0.5 ? late(1 - t) : late(t), mix: { from, to, t } };
}

const late = (t: number) => Math.max(0, (t - 0.7) / 0.3);

/** The pixels of a pair that changes its values: `pixelsOf(place)` gives either end's. */
export function mixed({ from, to, t }: Mix, pixelsOf: (place: Place) => CellPixels) {
  const [a, b] = [pixelsOf(from), pixelsOf(to)];
  const made = from.panel.name !== to.panel.name;
  const pace = PACES[(made && to.panel.made_from?.pace) || "even"];
  return mixPixels(a, b, pace(t, { rows: b.height, cols: b.width }));
}

const same = (a: number[], b: number[]) => a[0] === b[0] && a[1] === b[1];

const LENGTH = 260; // ms

/** A running transition. */
export class Morph {
  /** null while nothing changes */
  pairs: PlacePair[] | null = null;
  backwards = false;
  /** when its first frame was drawn, in ms; null before */
  began: number | null = null;
  moment = 1; // from 0 to 1

  /** @param backwards whether it plays from the end */
  start(before: Place[], after: Place[], backwards: boolean) {
    this.pairs = backwards ? pairs(after, before) : pairs(before, after);
    this.backwards = backwards;
    this.began = null;
    this.moment = 0;
  }

  stop() {
    this.pairs = null;
    this.moment = 1;
  }

  /** Advances to the current time; stops at the end. */
  advance() {
    if (!this.pairs) return;
    const now = performance.now();
    this.began ??= now;
    this.moment = Math.min(1, (now - this.began) / LENGTH);
    if (this.moment === 1) this.stop();
  }

  /** The places at the current time; null if no transition is running. */
  get places() {
    const t = this.backwards ? 1 - this.moment : this.moment;
    return this.pairs?.map((pair) => between(pair, t)) ?? null;
  }
}
