// Draws lines in batches, the darkest batch first, as many as fit into each frame. Within a batch the darkest are drawn
// last, on top.
//
// Measured in Chromium without a graphics card: a curve one device pixel wide takes 7 µs; a wider one 40 µs on its own
// and more in a path with others; composing below the existing lines ("destination-over") takes eight times as long.

import { darkness, LEVELS } from "./choice.ts";
import type { Layout } from "./layout.ts";
import type { Bundle } from "./choice.ts";

export type Batch = { from: number; to: number; wide: boolean; leaves: boolean; cost: number };

const BATCH = 64; // curves a path
const WIDE = 40; // lines: more do not show their weight by width as well
const WIDE_COST = 6; // of a wide line, in thin ones
const FEW = 300; // lines that may be a CSS pixel wide on any screen
const LEAVING = 0.5; // how much of its darkness a line keeps that leaves the window
const BEYOND = 16; // px: more than the lines of several heads lie apart
const FADE = 22; // px over which lines fade that leave the window

export class Strokes {
  lines;
  layout;
  colours: string[];
  density: number;
  next = 0;
  ends: Float64Array<ArrayBuffer>[];
  shifts: number[];
  perLevel: Uint32Array<ArrayBuffer>;
  shown: Uint32Array<ArrayBuffer>;
  inside = 0; // how many have both
  count = 0;
  thin: number;
  wideFrom: number;

  /** Prepares to draw those of `lines` of which an end is in view. */
  constructor({
    lines,
    layout,
    colours,
    density,
  }: {
    lines: Bundle;
    layout: Layout;
    colours: string[];
    density: number;
  }) {
    this.lines = lines;
    this.layout = layout;
    this.colours = colours;
    this.density = density;
    this.ends = [0, 1].map((side) => Float64Array.from({ length: layout.counts[side] }, (_, i) => layout.at(side, i)));
    this.shifts = colours.map((_, h) => layout.spread(h, colours.length));
    this.perLevel = new Uint32Array(LEVELS + 1);
    this.shown = new Uint32Array(lines.length); // those with both ends in view, then those with one
    this.collect();
    this.thin = density > 1 && this.count > FEW ? 1 / density : 1;
    this.wideFrom = wideFrom(this.perLevel);
  }

  /** Lists the lines with both ends in view, and after them those with one; counts them by level. */
  collect() {
    const { order, query, key, level } = this.lines;
    const [seenFrom, seenTo] = this.ends.map((ends) =>
      Uint8Array.from(ends, (along) => (this.layout.sees(along) ? 1 : 0)),
    );
    const leaving = new Uint32Array(order.length);
    let across = 0;
    for (let n = 0; n < order.length; n += 1) {
      const i = order[n];
      const seen = seenFrom[query[i]] + seenTo[key[i]];
      if (seen === 0) continue;
      if (seen === 2) this.shown[this.inside++] = i;
      else leaving[across++] = i;
      this.perLevel[level[i]] += 1;
    }
    this.count = this.inside + across;
    this.shown.set(leaving.subarray(0, across), this.inside);
  }

  get finished() {
    return this.next >= this.count;
  }

  /**
   * Draws the next lines, at least a `portion` of thin ones' worth, or all that are left; returns how much it drew.
   */
  paint(context: Canvas2D, portion: number) {
    if (this.finished) return 0;
    const batches = [];
    let spent = 0;
    while (!this.finished && spent < portion) {
      const batch = this.batch();
      batches.push(batch);
      spent += batch.cost;
    }
    context.save();
    this.clip(context);
    for (const batch of batches.reverse()) this.stroke(context, batch);
    if (this.finished) this.fade(context);
    context.restore();
    return spent;
  }

  /** Takes the next lines that look the same: {from, to, wide, leaves, cost}, the cost in thin lines. */
  batch(): Batch {
    const { head, level } = this.lines;
    const from = this.next;
    const first = this.shown[from];
    const leaves = from >= this.inside;
    const wide = !leaves && level[first] >= this.wideFrom;
    const same = (i: number) => level[i] === level[first] && head[i] === head[first];
    const end = Math.min(leaves ? this.count : this.inside, from + (wide ? 1 : BATCH));
    do this.next += 1;
    while (this.next < end && same(this.shown[this.next]));
    return { from, to: this.next, wide, leaves, cost: wide ? WIDE_COST : this.next - from };
  }

  stroke(context: Canvas2D, { from, to, wide, leaves }: Batch) {
    const { head, level, query, key } = this.lines;
    const first = this.shown[from];
    const shift = this.shifts[head[first]];
    const draw = leaves ? traceLeaving : trace;
    context.beginPath();
    for (let n = from; n < to; n += 1) {
      const i = this.shown[n];
      draw(context, this.layout, this.ends[0][query[i]] + shift, this.ends[1][key[i]] + shift);
    }
    context.globalAlpha = darkness(level[first]) * (leaves ? LEAVING : 1);
    context.lineWidth = wide ? widthOf(level[first]) : this.thin;
    context.strokeStyle = this.colours[head[first]];
    context.stroke();
  }

  /**
   * Keeps to the window. The edges lie between device pixels, for any other clip makes lines three times dearer.
   */
  clip(context: Canvas2D) {
    const whole = (at: number) => Math.round(at * this.density) / this.density;
    const [x, y, width, height] = this.box;
    context.beginPath();
    context.rect(whole(x), whole(y), whole(x + width) - whole(x), whole(y + height) - whole(y));
    context.clip();
  }

  /** A broad band under the line between two tokens. */
  underline(context: Canvas2D, q: number, k: number, ink: string) {
    context.save();
    this.clip(context);
    context.beginPath();
    trace(context, this.layout, this.layout.at(0, q), this.layout.at(1, k));
    Object.assign(context, { lineWidth: 9, globalAlpha: 0.2, strokeStyle: ink });
    context.stroke();
    context.restore();
  }

  /** Where the lines are: [x, y, width, height]. */
  get box(): BoxNumbers {
    const { vertical, ends, window } = this.layout;
    const across = [ends[0] - 1, ends[1] - ends[0] + 2];
    const along = [window.from, window.length];
    return vertical ? [across[0], along[0], across[1], along[1]] : [along[0], across[0], along[1], across[1]];
  }

  /** Where there is more beyond an edge of the window, lines end in nothing. */
  fade(context: Canvas2D) {
    const { layout } = this;
    const { from, length } = layout.window;
    const offset = Math.max(...layout.offsets);
    context.globalAlpha = 1;
    context.globalCompositeOperation = "destination-out";
    const edges = [
      { edge: from, inner: from + FADE, more: offset > 1 },
      { edge: from + length, inner: from + length - FADE, more: offset < layout.travel - 1 },
    ];
    for (const { edge, inner } of edges.filter(({ more }) => more)) {
      const along = (at: number): Point => (layout.vertical ? [0, at] : [at, 0]);
      const gradient = context.createLinearGradient(...along(edge), ...along(inner));
      gradient.addColorStop(0, "#000000");
      gradient.addColorStop(1, "#00000000");
      context.fillStyle = gradient;
      const [x, y, width, height] = this.box;
      const start = Math.min(edge, inner);
      if (layout.vertical) context.fillRect(x, start, width, FADE);
      else context.fillRect(start, y, FADE, height);
    }
  }
}

/** One curve from a query to a key, given where each is along its side. */
export function trace(
  context: Pick<Canvas2D, "moveTo" | "bezierCurveTo">,
  { vertical, ends }: Layout,
  from: number,
  to: number,
) {
  const middle = (ends[0] + ends[1]) / 2;
  if (vertical) {
    context.moveTo(ends[0], from);
    context.bezierCurveTo(middle, from, middle, to, ends[1], to);
  } else {
    context.moveTo(from, ends[0]);
    context.bezierCurveTo(from, middle, to, middle, to, ends[1]);
  }
}

/**
 * The part in the window of a curve with one end outside it. Chromium would trace all of it, pixel for pixel.
 * At time t the curve has come 3t² − 2t³ of the way along; its first part up to t is a Bézier curve as well.
 */
function traceLeaving(context: Canvas2D, { vertical, ends, window }: Layout, from: number, to: number) {
  const [first, last] = [window.from - BEYOND, window.from + window.length + BEYOND];
  const outwards = from >= first && from <= last;
  const [inner, far] = outwards ? [from, to] : [to, from];
  const start = outwards ? ends[0] : ends[1];
  const depth = (outwards ? 1 : -1) * (ends[1] - ends[0]);
  const edge = far > inner ? last : first;
  const share = Math.min(1, (edge - inner) / (far - inner || 1));
  const t = 0.5 - Math.sin(Math.asin(1 - 2 * share) / 3);
  const along = inner + (far - inner) * t * t;
  const [near, away] = [start + (depth / 2) * t, start + (depth / 2) * t * (2 - t)];
  const end = start + depth * (1.5 * t * (1 - t) + t ** 3);
  if (vertical) {
    context.moveTo(start, inner);
    context.bezierCurveTo(near, inner, away, along, end, edge);
  } else {
    context.moveTo(inner, start);
    context.bezierCurveTo(inner, near, along, away, edge, end);
  }
}

/**
 * The lowest level whose lines may be wide: all lines of a level look the same, so all of them must be few enough.
 */
function wideFrom(perLevel: Uint32Array) {
  let [from, sum] = [LEVELS + 1, 0];
  while (from > LEVELS / 2 + 1 && sum + perLevel[from - 1] <= WIDE) {
    from -= 1;
    sum += perLevel[from];
  }
  return from;
}

const widthOf = (level: number) => 1 + 2.4 * (darkness(level) - darkness(LEVELS / 2));
