// The paths of the arcs between the words of a sentence.

const RISE = { least: 16, part: 0.16 }; // px: of an arc above its words, and of their distance
const LOOP = { half: 9, wide: 15, high: 26 }; // px: the arc of a word to itself

/** Where a word stands inside of all words, in px */
export interface Place {
  /** its middle */
  x: number;
  top: number;
  bottom: number;
  /** the lower end of its share, or of the word where no share is written */
  foot: number;
}

const rounded = (...numbers: number[]) => numbers.map((x) => Number(x.toFixed(1))).join(" ");

/** From the top of a word to the top of another on its line. @param room above the line */
export function arch(from: Place, to: Place, room: number) {
  const rise = Math.min(room, RISE.least + RISE.part * Math.abs(to.x - from.x));
  const top = Math.min(from.top, to.top) - (4 / 3) * rise; // a curve rises to three quarters of its control points
  return `M ${rounded(from.x, from.top)} C ${rounded(from.x, top, to.x, top, to.x, to.top)}`;
}

/** From the foot of a word, or of its share, to the top of a word below it. */
export function downward(from: Place, to: Place) {
  const half = (from.foot + to.top) / 2;
  return `M ${rounded(from.x, from.foot)} C ${rounded(from.x, half, to.x, half, to.x, to.top)}`;
}

export function loop({ x, top }: Place) {
  const { half, wide, high } = LOOP;
  return `M ${rounded(x - half, top)} C ${rounded(x - wide, top - high, x + wide, top - high, x + half, top)}`;
}
