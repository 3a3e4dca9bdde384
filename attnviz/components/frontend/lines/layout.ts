// The layout of the lines: tokens along one axis, in two rows or columns. Side 0 is query, side 1 is key.
//
// "Along" is y and "across" is x where the layout is vertical, and the other way round where it is horizontal.
// Distances across are counted outwards from the ends of the lines.

import { ticks } from "../board/layout.ts";
import { typeFor } from "../core/type.ts";

const TYPE = { label: 13, fine: 11 }; // px: labels; numbers and notes
const HEAD = 24; // px for a side's name; what holds text grows with its type (see core/type.ts)
export const GAP = 5;
const NUMBER = 42; // px that a number takes with the space around it
export const SWATCH = 9; // and the mark that says which head's it is
const SQUARE = 9; // at most; narrower where there are many heads
const NARROW = 420; // px, of small type, under which numbers have no column: they stand at the ends of the lines
const LONGEST = 170;
const PITCH = { fair: 19, least: 15.5 }; // px from one token to the next: the least only where then all are in sight
const LOWEST = 8; // px of a matrix's rows: beside lower ones the tokens have a pitch of their own, and scroll
const WIDEST = 620; // px between the two columns: wider lines are harder to follow
export const TURN = Math.PI / 4;

/** what there is to lay out */
export interface Room {
  size: Size;
  /** how many tokens each side has */
  counts: number[];
  /** the widest label of each side in px */
  longest: number[];
  type: TypeSizes;
  /** px that a number takes with the space around it */
  figure: number;
  /** tokens of the longer side */
  most: number;
  /** one a head, where there are several */
  squares: number;
  /** with which the tokens are level */
  beside: MatrixRows | null;
}
/** px, but for what is true or false */
export type Measures = ReturnType<typeof vertical>;

/**
 * The type of all that stands beside lines, where nothing may be smaller than `least` px. Labels of tokens that are
 * level with low rows of a matrix are smaller.
 */
export function typeOf(least: number, beside: MatrixRows | null = null) {
  const pitch = beside?.pitch ?? TYPE.label;
  const apart = pitch * ticks(0, 0, pitch, TYPE.fine).every;
  return typeFor(least, { ...TYPE, label: Math.min(TYPE.label, Math.max(TYPE.fine, apart)) });
}

/** The rows of a matrix if tokens can be level with them, else null. */
export const levelWith = (rows: MatrixRows | null, least: number) =>
  rows && rows.pitch >= LOWEST * typeOf(least).unit && rows.from >= HEAD * typeOf(least).unit ? rows : null;

/** `longest` is the widest label of each side in px; `counts` how many tokens each side has. */
export function arrange({
  direction,
  size,
  counts,
  heads,
  longest,
  type = typeOf(0),
  beside = null,
}: Pick<Room, "size" | "counts" | "longest"> & {
  direction: string;
  heads: number;
  type?: TypeSizes;
  beside?: MatrixRows | null;
}) {
  const given = {
    size,
    counts,
    longest,
    type,
    figure: (NUMBER * type.fine) / TYPE.fine,
    most: Math.max(1, ...counts),
    squares: heads > 1 ? heads : 0,
    beside,
  };
  return new Layout(direction === "horizontal" ? horizontal(given) : vertical(given), given);
}

function squareOf({ squares }: { squares: number }, room: number) {
  const square = squares ? Math.min(SQUARE, room / squares) : 0;
  return square >= 1.5 ? square : 0; // too many heads for squares that can be distinguished
}

function vertical({ size, longest, type: { unit }, figure, most, squares, beside }: Room) {
  const square = squareOf({ squares }, size.width * 0.1);
  const strip = square * squares;
  const within = size.width < NARROW * unit;
  const head = HEAD * unit;
  const number = within ? 0 : GAP + figure + (squares ? SWATCH : 0);
  const label = GAP + (strip ? strip + GAP : 0);
  const fixed = 2 * (label + number + GAP);
  const nearest = Math.max(84, size.width * 0.45 - 110); // what the lines keep, however long the tokens are
  const widest = Math.max(44, Math.min(LONGEST * unit, (size.width - fixed - nearest) / 2));
  const room = longest.map((width) => Math.min(widest, Math.max(width, 44)));
  const between = Math.min(WIDEST, Math.max(40, size.width - fixed - room[0] - room[1]));
  const depth = room.map((width) => label + width + number + GAP);
  const left = (size.width - between - depth[0] - depth[1]) / 2;
  const from = beside?.from ?? head;
  const window = { from, length: Math.max(20, size.height - from - 4) };
  const least = (most * PITCH.least * unit <= window.length ? PITCH.least : PITCH.fair) * unit;
  return {
    vertical: true,
    turned: false,
    within,
    window,
    square,
    label,
    room,
    pitch: beside?.pitch ?? Math.min(36 * unit, Math.max(least, window.length / most)),
    number: room.map((width) => label + width + GAP),
    ends: [left + depth[0], left + depth[0] + between],
    overhang: 0,
    heads: [from - head / 2, from - head / 2],
  };
}

function horizontal({ size, longest, type, figure, most, squares }: Room): Measures {
  const { unit } = type;
  const head = HEAD * unit;
  const square = squareOf({ squares }, size.height * 0.1);
  const strip = square * squares;
  const widest = Math.min(LONGEST * unit * 0.6, Math.max(...longest));
  const natural = Math.max(18 * unit, widest + 10);
  const turned = most * natural > size.width && natural > 40 * unit;
  const label = GAP + (strip ? strip + GAP : 0);
  const room = longest.map((width) => Math.min(width, turned ? 92 * unit : natural - 6));
  const number = figure + (squares ? SWATCH : 0);
  const along = room.map((width) => (turned ? width + GAP + number : 0));
  const depth = along.map(
    (length) => label + (turned ? length * Math.sin(TURN) + 8 : type.label + 4 + type.fine + 8) + head - 4,
  );
  const overhang = turned ? Math.max(...along) * Math.cos(TURN) : 0;
  const window = { from: 8, length: Math.max(20, size.width - 16) };
  const between = Math.max(40, size.height - depth[0] - depth[1]);
  return {
    vertical: false,
    turned,
    within: false,
    window,
    square,
    label,
    room,
    overhang,
    pitch: Math.min(
      (turned ? 44 : 110) * unit,
      Math.max(turned ? 21 * unit : natural, (window.length - overhang) / most),
    ),
    number: room.map((width) => (turned ? width + GAP : 0)),
    ends: [depth[0], depth[0] + between],
    heads: [head / 2 - 2, depth[0] + between + depth[1] - head / 2 + 2],
  };
}

export class Layout {
  vertical: boolean;
  turned: boolean;
  within: boolean;
  window;
  square: number;
  squares: number;
  label: number;
  number: number[];
  room: number[];
  pitch: number;
  ends: number[];
  overhang: number;
  heads: number[];
  size: Size;
  counts: number[];
  type: TypeSizes;
  figure: number;
  travels: number[];
  travel: number;
  offsets: number[] = [0, 0];

  constructor(measures: Measures, { size, counts, squares, type, figure }: Room) {
    this.vertical = measures.vertical;
    this.turned = measures.turned; // labels, by TURN
    this.within = measures.within; // numbers stand at the ends of the lines
    this.window = measures.window; // what is in view along a side
    this.square = measures.square; // the width of a head's square, 0 for none
    this.squares = measures.square ? squares : 0;
    this.label = measures.label; // how far out a label begins
    this.number = measures.number; // and a number, on each side
    this.room = measures.room; // for the labels of each side
    this.pitch = measures.pitch; // from one token to the next
    this.ends = measures.ends; // of the lines, across
    this.overhang = measures.overhang; // of turned labels, beyond the last token
    this.heads = measures.heads; // where each side's name stands, across
    this.size = size;
    this.counts = counts;
    this.type = type;
    this.figure = figure;
    this.travels = counts.map((count) => Math.max(0, count * this.pitch + this.overhang - this.window.length));
    this.travel = Math.max(...this.travels);
  }

  /** Scrolls both sides; of two unequal sides, each comes to its end when the other does. */
  scroll(offset: number) {
    const share = this.travel ? Math.min(Math.max(offset / this.travel, 0), 1) : 0;
    this.offsets = this.travels.map((travel) => travel * share);
  }

  /** How far to scroll so that a token is in view, or null where it is. */
  reveal(side: number, index: number) {
    const [at, half] = [this.at(side, index), this.pitch / 2];
    const { from, length } = this.window;
    const past = Math.min(0, at - half - from) || Math.max(0, at + half + this.overhang - from - length);
    return past && this.travels[side] ? ((this.offsets[side] + past) / this.travels[side]) * this.travel : null;
  }

  /** Where a token is along its side. */
  at(side: number, index: number) {
    return this.window.from + (index + 0.5) * this.pitch - this.offsets[side];
  }

  /**
   * How far beside a token's middle the line of one of several heads begins, so that they do not hide one another.
   */
  spread(head: number, heads: number) {
    return (head - (heads - 1) / 2) * Math.min(2.5, (Math.min(this.pitch, 30) - 5) / heads);
  }

  /** The tokens of a side that have a label: where there is no room for each, those of `always` before the others. */
  labelled(side: number, always: number[]) {
    const { shown } = ticks(0, this.counts[side], this.pitch, this.vertical ? this.apart : 0, [...new Set(always)]);
    return new Set(shown);
  }

  /** px from one label to the next in a column, at least. */
  get apart() {
    return Math.max(this.type.fine, this.type.least);
  }

  sees(along: number) {
    return along >= this.window.from && along <= this.window.from + this.window.length;
  }

  /** The tokens of a side that are in view: [from, to). */
  visible(side: number): Span {
    const from = Math.max(0, Math.floor(this.offsets[side] / this.pitch));
    const to = Math.ceil((this.offsets[side] + this.window.length) / this.pitch);
    return [from, Math.min(this.counts[side], to)];
  }

  /** The point at a distance outwards from a side's ends of lines. */
  point(side: number, distance: number, along: number): Point {
    const across = this.ends[side] + (side ? distance : -distance);
    return this.vertical ? [across, along] : [along, across];
  }

  /** The token under a point: {side, index} or null. */
  hit(x: number, y: number): Token | null {
    const [across, along] = this.vertical ? [x, y] : [y, x];
    const reach = Math.min(24, (this.ends[1] - this.ends[0]) / 4); // the last bit of the lines counts as the token
    const side = across <= this.ends[0] + reach ? 0 : across >= this.ends[1] - reach ? 1 : null;
    if (side === null || !this.sees(along)) return null;
    const distance = (across - this.ends[side]) * (side ? 1 : -1);
    const lean = this.turned ? Math.max(0, distance - this.label) / Math.tan(TURN) : 0;
    const index = Math.floor((along - lean - this.window.from + this.offsets[side]) / this.pitch);
    return index >= 0 && index < this.counts[side] ? { side, index } : null;
  }
}
