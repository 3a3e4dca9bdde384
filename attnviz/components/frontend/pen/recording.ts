// A recorded picture as JSON: the marks with rounded numbers, and images as PNG. attnviz/export/recording.py reads it.
//
// Text with characters that the server's font lacks, or in scripts that need shaping, goes along as an image.

import { canvasOf, fontName, textImage } from "./canvas.ts";
import { measure } from "./measure.ts";
import { RIGHT_TO_LEFT } from "../core/format.ts";

const RIGHT_TO_LEFT_RUN = new RegExp(`${RIGHT_TO_LEFT.source}(?:[\\s\\p{M}]*${RIGHT_TO_LEFT.source})*`, "gu");
const SHARP = 4; // pixels of an image of text for one of the picture's

/**
 * Writes {marks, width, height, paper, title, caption}. `letters` are the characters of the server's font, `family` is
 * the canvas's font.
 */
export function recording(
  { marks, width, height, paper, title, caption }: Sheet,
  fonts: { letters: Set<string>; family: string },
) {
  const clips = new Clips();
  const written = marks.map((mark) => {
    const { alpha } = mark;
    const common = { kind: mark.kind, alpha: round(alpha), clip: clips.number(mark.clip) };
    if (mark.kind === "shape") return { ...common, ...shape(mark) };
    return { ...common, ...(mark.kind === "text" ? words(mark, fonts) : image(mark)) };
  });
  return JSON.stringify({ width, height, paper, title, caption, clips: clips.list, marks: written });
}

/** Numbers clips, each after the one that it lies in. */
class Clips {
  list: { path: PathStep[]; parent: number | null }[] = [];
  known = new Map<Clip, number>();

  number(clip: Clip | null): number | null {
    if (!clip) return null;
    const known = this.known.get(clip);
    if (known !== undefined) return known;
    const parent = this.number(clip.parent);
    this.known.set(clip, this.list.push({ path: rounded(clip.path), parent }) - 1);
    return this.list.length - 1;
  }
}

function shape({ path, fill, stroke, lineWidth, dash }: ShapeMark) {
  return { path: rounded(path), fill, stroke, lineWidth: round(lineWidth), dash };
}

/**
 * A text in pieces: as long as the font can write it, and as long as it can't. Text from right to left is one piece,
 * because pieces would change its order.
 */
function words(mark: TextMark, { letters, family }: { letters: Set<string>; family: string }) {
  const { text, matrix, size, bold, anchor, fill } = mark;
  const parts = RIGHT_TO_LEFT.test(text) ? [{ text, set: false }] : partsOf(text, letters);
  const pieces = parts.map((part) => {
    const width = round(measure(fontName(mark, family), part.text).width);
    return { text: inOrderSeen(part.text), width, image: part.set ? null : drawn({ ...mark, ...part, width }, family) };
  });
  return { pieces, matrix: matrix.map((value) => round(value, 4)), size: round(size), bold, anchor, fill };
}

function drawn(mark: TextMark, family: string) {
  const { canvas, ...box } = textImage(mark, { scale: SHARP, family });
  return { ...box, png: png(canvas) };
}

function image({ image: pixels, x, y, width, height, cells }: ImageMark) {
  const [left, top, wide, high] = [x, y, width, height].map((value) => round(value));
  return { x: left, y: top, width: wide, height: high, cells, png: png(canvasOf(pixels)) };
}

const png = (canvas: HTMLCanvasElement) => canvas.toDataURL("image/png").split(",")[1];

/**
 * A text with what runs from right to left turned round: readers of PDF expect letters in the order in which they
 * stand.
 */
function inOrderSeen(text: string) {
  return text.replace(RIGHT_TO_LEFT_RUN, (run) => Array.from(run).reverse().join(""));
}

function partsOf(text: string, letters: Set<string>) {
  const parts: { text: string; set: boolean }[] = [];
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    // Marks must be placed over their letter, which needs more than widths.
    const set = !/\p{M}/u.test(segment) && Array.from(segment).every((character) => letters.has(character));
    const last = parts.at(-1);
    if (last?.set === set) last.text += segment;
    else parts.push({ text: segment, set });
  }
  return parts;
}

const rounded = (path: PathStep[]): PathStep[] =>
  path.map(([name, ...numbers]) => [name, ...numbers.map((value) => round(value))]);

const round = (value: number, digits = 3) => Number(value.toFixed(digits));
