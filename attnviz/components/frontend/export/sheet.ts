// Arranges pictures on a sheet as on the page, cropped to their content, with title and caption.

import { INK } from "../core/colours.ts";
import { HEADING, PAPER } from "../core/constants.ts";
import { Pen } from "../pen/pen.ts";
import { measure } from "../pen/measure.ts";
import { bounds } from "../pen/bounds.ts";

const MARGIN = 16; // px
const LEAST = 260; // px in width, so that a caption has room
const TITLE = { size: 17, line: 22, font: "600 17px" };
const CAPTION = { size: 12, line: 16.5, font: "12px" };
const PINNED = { size: 14, line: 19, font: "600 14px" };
const CHIP = { size: 13, height: 22, pad: 5, gap: 4 };
const CHIP_GROUND = { light: "#ECECF2", dark: "#2C2C39" };
const SLIDE = 16 / 9;
const APART = 10; // px between the words and the picture

/**
 * Returns {marks, width, height, paper, title, caption} for `found`, some of findPictures(), or null where they are
 * empty. `theme` is "light" or "dark"; without `paper` the background is transparent; `title` and `caption`, with
 * the notes of the pictures, are written unless empty.
 */
export async function compose(found: FoundPicture[], looks: SheetLooks): Promise<Sheet | null> {
  const { theme, paper, title, written, wide, pinned, family } = looks;
  const notes = found.flatMap(({ picture }) => picture.note || []);
  const caption = looks.caption && [looks.caption, ...notes].join(" ");
  for (const { picture } of found) await picture.prepare?.(theme);
  const ground = paper ? PAPER[theme] : null;
  const boxes = found.map(({ element }) => element.getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map(({ x }) => x)), Math.min(...boxes.map(({ y }) => y))];
  const draw = (pen: Pen, x: number, y: number) =>
    found.forEach(({ picture }, n) =>
      pen.within({ x: boxes[n].x - left + x, y: boxes[n].y - top + y }, () => picture.paint(pen, { theme })),
    );

  const trial = new Pen({ paper: ground });
  draw(trial, 0, 0);
  const drawn = bounds(trial.marks);
  if (!drawn) return null;
  const tokens = looks.chips ? (found.find(({ picture }) => picture.tokens)?.picture.tokens?.() ?? []) : [];
  const lay = (width: number) => {
    const pen = new Pen({ paper: ground });
    const words = { ink: INK[theme].text, width, family };
    let y = MARGIN;
    if (written && title) y = write(pen, title, { ...TITLE, ...words, y, ink: HEADING[theme] }) + APART;
    if (tokens.length) y = writeChips(pen, tokens, { ...words, y, theme }) + APART;
    draw(pen, (width - drawn.width) / 2 - drawn.x, y - drawn.y);
    y += Math.ceil(drawn.height);
    if (pinned) y = write(pen, pinned, { ...PINNED, ...words, y: y + APART, ink: HEADING[theme] });
    if (written && caption) y = write(pen, caption, { ...CAPTION, ...words, y: y + APART });
    return { pen, height: Math.ceil(y + MARGIN) };
  };
  let width = Math.max(LEAST, Math.ceil(drawn.width)) + 2 * MARGIN;
  let laid = lay(width);
  if (wide) {
    // Wider lines of text are fewer, so the sheet is laid out once more.
    width = Math.max(width, Math.ceil(laid.height * SLIDE));
    laid = lay(width);
  }
  const height = wide ? Math.max(laid.height, Math.round(width / SLIDE)) : laid.height;
  return { marks: laid.pen.marks, width, height, paper: ground, title, caption };
}

/** Writes tokens as chips, in as many lines as they need; returns where the next thing may begin. */
function writeChips(
  pen: Pen,
  tokens: string[],
  { ink, width, family, theme, ...from }: { y: number; ink: string; width: number; family: string; theme: Theme },
) {
  const font = `${CHIP.size}px ${family}`;
  let [x, y] = [MARGIN, from.y];
  for (const token of tokens) {
    const wide = measure(font, token).width + 2 * CHIP.pad;
    if (x > MARGIN && x + wide > width - MARGIN) [x, y] = [MARGIN, y + CHIP.height + CHIP.gap];
    Object.assign(pen, { fillStyle: CHIP_GROUND[theme] });
    pen.fillRect(x, y, wide, CHIP.height);
    Object.assign(pen, { font, fillStyle: ink, textAlign: "left", textBaseline: "middle" });
    pen.fillText(token, x + CHIP.pad, y + CHIP.height / 2);
    x += wide + CHIP.gap;
  }
  return y + CHIP.height;
}

/** Writes a text in as many lines as it needs; returns where the next thing may begin. */
function write(
  pen: Pen,
  text: string,
  {
    size,
    line,
    font,
    y,
    ink,
    width,
    family,
  }: { size: number; line: number; font: string; y: number; ink: string; width: number; family: string },
) {
  Object.assign(pen, { font: `${font} ${family}`, fillStyle: ink, textAlign: "left", textBaseline: "alphabetic" });
  const lines = wrapped(text, width - 2 * MARGIN, (some) => measure(pen.font, some).width);
  lines.forEach((some, n) => pen.fillText(some, MARGIN, y + size * 0.85 + n * line));
  return y + lines.length * line;
}

/** Breaks a text into lines of at most `room`; a word that is longer than that is broken as well. */
export function wrapped(text: string, room: number, widthOf: WidthOf) {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = line ? `${line} ${word}` : word;
    if (widthOf(longer) <= room) {
      line = longer;
      continue;
    }
    if (line) lines.push(line);
    line = "";
    for (const letter of word) {
      if (line && widthOf(line + letter) > room) {
        lines.push(line);
        line = "";
      }
      line += letter;
    }
  }
  return line ? [...lines, line] : lines;
}
