// Draws the tokens beside the lines, the squares of each head, and the weights of the hovered or pinned token.

import { axisTitle } from "../board/labels.ts";
import { INK, TEXT_INK } from "../core/colours.ts";
import { AXIS_TITLES } from "../core/constants.ts";
import { opacity } from "./choice.ts";
import { GAP, SWATCH, TURN } from "./layout.ts";
import { digits } from "./sentences.ts";
import type { Layout } from "./layout.ts";
import type { Choice } from "./choice.ts";

/** what tokens are written with */
export interface WordsPen {
  context: Canvas2D;
  layout: Layout;
  theme: Theme;
  font: string;
  choice: Choice;
  /** a token as it is written */
  short: (side: number, i: number) => string;
  widthOf: WidthOf;
}
export type TokenNumber = { i: number; best: { head: number; value: number }; alpha: number };
/** to which side of (x, y) a text lies: 1, -1 or 0 */
export type Beside = { reach: number; x: number; y: number };

const ROLES: ("query" | "key")[] = ["query", "key"];
const PALE = 0.34; // of a token that the one that is meant has nothing to do with

export function paintWords(pen: WordsPen, lit: LitTokens) {
  for (const side of [0, 1]) {
    paintName(pen, side, lit);
    paintSide(pen, side, lit);
  }
}

function paintName({ context, layout, theme, font, choice }: WordsPen, side: number, lit: LitTokens) {
  const several = choice.heads.length > 1 && lit.meant[1 - side] !== null;
  const across = layout.heads[side];
  context.textBaseline = "middle";
  context.fillStyle = TEXT_INK[theme][ROLES[side]];
  context.font = `600 ${layout.type.label}px ${font}`;
  context.textAlign = layout.vertical && side === 0 ? "right" : "left";
  if (!layout.vertical) {
    const name = AXIS_TITLES[ROLES[side]];
    const explained = `${name} · number: the largest of the heads`;
    const explain = several && context.measureText(explained).width <= layout.window.length;
    context.fillText(explain ? explained : name, layout.window.from, across);
    return;
  }
  const title = axisTitle(ROLES[side], layout.room[side] + GAP, (text) => context.measureText(text).width) ?? "";
  context.fillText(title, layout.point(side, layout.label, 0)[0], across);
  if (layout.square) paintSwatches(context, layout, choice, side);
  if (!several || title !== AXIS_TITLES[ROLES[side]] || layout.within) return;
  context.fillStyle = INK[theme].text;
  context.font = `${layout.type.fine}px ${font}`;
  context.fillText("largest", layout.point(side, layout.number[side], 0)[0], across);
}

/** Which column of squares is which head's. */
function paintSwatches(context: Canvas2D, layout: Layout, { heads }: Choice, side: number) {
  for (let h = 0; h < layout.squares; h += 1) {
    const [left] = squareAt(layout, side, h, 0);
    context.fillStyle = heads[h].colour;
    context.fillRect(left, layout.heads[side] - 4, Math.max(1, layout.square - 1), 8);
  }
}

function paintSide(pen: WordsPen, side: number, lit: LitTokens) {
  const { context, layout, choice } = pen;
  const other = lit.meant[1 - side];
  const dimmed = lit.meant.some((token) => token !== null);
  const [from, to] = layout.visible(side);
  const { from: start, length } = layout.window;
  context.save();
  context.beginPath();
  if (layout.vertical) context.rect(0, start, layout.size.width, Math.round(length));
  else context.rect(start - 6, 0, layout.size.width, layout.size.height);
  context.clip();
  if (layout.square) paintSquares(pen, side, { from, to, other });
  const reach = layout.vertical ? (side ? 1 : -1) : layout.turned ? 1 : 0;
  Object.assign(context, {
    textAlign: ["right", "center", "left"][reach + 1],
    textBaseline: "middle",
    direction: "ltr",
  });
  const bestOf = (i: number) => (other === null ? null : side ? choice.largest(other, i) : choice.largest(i, other));
  const numbers: TokenNumber[] = [];
  const tokens = Array.from({ length: Math.max(0, to - from) }, (_, n) => {
    const i = from + n;
    const best = bestOf(i);
    const strength = best ? opacity(best.value, choice.rules) : 0;
    const isLit = lit.meant[side] === i || lit.pinned[side] === i;
    const alpha = !dimmed || isLit ? 1 : other === null ? 0.6 : best ? 0.55 + 0.45 * strength : PALE;
    if (best) numbers.push({ i, best, alpha: Math.max(alpha, 0.7) });
    return { i, alpha, ground: layout.square ? 0 : strength };
  });
  const written = fitting(numbers, layout);
  const shown = layout.labelled(side, [...litOn(side, lit), ...written.map(({ i }) => i)]);
  for (const { i, ...looks } of tokens) {
    if (shown.has(i)) at(pen, side, i, (x, y) => paintToken(pen, side, i, { lit, ...looks, reach, x, y }));
  }
  for (const number of written) {
    if (shown.has(number.i)) at(pen, side, number.i, (x, y) => paintNumber(pen, side, { ...number, reach, x, y }));
  }
  context.restore();
}

/** The tokens of a side that have their labels before all others. */
const litOn = (side: number, { meant, hovered, pinned, cursor }: LitTokens) =>
  [cursor?.side === side ? cursor.index : null, pinned[side], hovered[side], meant[side]].filter((i) => i !== null);

/** Does some work where a token's label begins, turned as it is. */
function at({ context, layout }: WordsPen, side: number, i: number, work: (x: number, y: number) => void) {
  const { vertical, turned, label, type } = layout;
  const [x, y] = layout.point(side, label + (vertical || turned ? 0 : type.label / 2 + 1), layout.at(side, i));
  if (!turned) {
    work(x, y);
    return;
  }
  context.save();
  context.translate(x, y);
  context.rotate(side ? TURN : -TURN);
  work(0, 0);
  context.restore();
}

/** `reach` is 1, -1 or 0: to which side of (x, y) the text lies. */
function paintToken(
  pen: WordsPen,
  side: number,
  i: number,
  { lit, alpha, ground, reach, x, y }: Beside & { lit: LitTokens; alpha: number; ground: number },
) {
  const { context, layout, theme, font, choice } = pen;
  const text = pen.short(side, i);
  const ink = INK[theme][ROLES[side]];
  const isPinned = lit.pinned[side] === i;
  const isHovered = lit.hovered[side] === i;
  const isCursor = lit.cursor?.side === side && lit.cursor.index === i;
  const grounded = ground > 0.01;
  if (isPinned || isHovered || isCursor || grounded) {
    const { unit } = layout.type;
    const height = Math.min(layout.vertical ? layout.pitch - 1 : 19 * unit, 22 * unit);
    const box = boxOf(x, y, pen.widthOf(text), height, reach);
    if (grounded) fillBox(context, box, choice.heads[0]?.colour ?? ink, ground * 0.38);
    if (isPinned || isHovered) fillBox(context, box, ink, isPinned ? 0.2 : 0.13);
    if (isPinned || isCursor) {
      Object.assign(context, { strokeStyle: ink, lineWidth: isCursor ? 2 : 1, globalAlpha: 1 });
      context.strokeRect(...box);
    }
  }
  context.font = `${layout.type.label}px ${font}`;
  context.globalAlpha = alpha;
  context.fillStyle = isPinned || isHovered ? TEXT_INK[theme][ROLES[side]] : INK[theme].text;
  context.fillText(`\u2068${text}\u2069`, x, y + 0.5); // isolated: a token's own direction ends with it
}

function boxOf(x: number, y: number, width: number, height: number, reach: number): BoxNumbers {
  const left = reach > 0 ? x : reach < 0 ? x - width : x - width / 2;
  return [left - 3, y - height / 2, width + 6, height];
}

function fillBox(context: Canvas2D, box: BoxNumbers, colour: string, alpha: number) {
  context.globalAlpha = alpha;
  context.fillStyle = colour;
  context.fillRect(...box);
}

/** The square of a head beside a token: the first head's is nearest to the lines, on either side. */
function squareAt(layout: Layout, side: number, h: number, along: number): BoxNumbers {
  const [x, y] = layout.point(side, GAP + (h + 0.5) * layout.square, along);
  const across = Math.max(1, layout.square - 1);
  const length = Math.min(layout.pitch - 3, 18);
  const [width, height] = layout.vertical ? [across, length] : [length, across];
  return [x - width / 2, y - height / 2, width, height];
}

/**
 * A row of squares, one a head: each as dark as that head's weight between this token and the one that is meant.
 */
function paintSquares(
  { context, layout, theme, choice }: WordsPen,
  side: number,
  { from, to, other }: { from: number; to: number; other: number | null },
) {
  context.fillStyle = INK[theme].rule;
  context.globalAlpha = other === null ? 0.07 : 0.1;
  for (let i = from; i < to; i += 1) {
    const first = squareAt(layout, side, 0, layout.at(side, i));
    const last = squareAt(layout, side, layout.squares - 1, layout.at(side, i));
    context.fillRect(
      Math.min(first[0], last[0]),
      Math.min(first[1], last[1]),
      Math.abs(last[0] - first[0]) + first[2],
      Math.abs(last[1] - first[1]) + first[3],
    );
  }
  if (other === null) return;
  for (let h = 0; h < layout.squares; h += 1) {
    context.fillStyle = choice.heads[h].colour;
    for (let i = from; i < to; i += 1) {
      const shade = opacity(choice.value(h, side ? other : i, side ? i : other), choice.rules);
      if (!shade) continue;
      context.globalAlpha = shade;
      context.fillRect(...squareAt(layout, side, h, layout.at(side, i)));
    }
  }
  context.globalAlpha = 1;
}

/** The numbers that find room, the largest first. */
function fitting(numbers: TokenNumber[], { vertical, turned, pitch, figure, apart }: Layout) {
  const needed = vertical ? apart : turned ? 0 : figure;
  if (pitch >= needed) return numbers;
  const taken: number[] = [];
  return numbers
    .toSorted((a, b) => b.best.value - a.best.value)
    .filter(({ i }) => !taken.some((j) => Math.abs(i - j) * pitch < needed) && taken.push(i));
}

/**
 * A number in its column; in a narrow layout over the ends of the lines; behind its token where labels are turned, or
 * else under or over it.
 */
function paintNumber(pen: WordsPen, side: number, { i, best, alpha, reach, x, y }: TokenNumber & Beside) {
  const { context, layout, theme, font, choice } = pen;
  const mark = choice.heads.length > 1 ? SWATCH : 0;
  const direction = layout.within ? -reach : reach;
  const middle = y + (reach ? 0.5 : (side ? 1 : -1) * (layout.type.label + 2));
  let start = x;
  if (layout.within) {
    start = layout.ends[side] + direction * 3;
    const { fine } = layout.type;
    const width = layout.figure + mark;
    context.clearRect(
      direction > 0 ? layout.ends[side] - 1 : layout.ends[side] + 1 - width,
      y - fine * 0.64,
      width,
      fine * 1.28,
    );
  } else if (layout.vertical) start += reach * (layout.number[side] - layout.label);
  else start += reach * (pen.widthOf(pen.short(side, i)) + 7);
  const left = start + direction * mark;
  context.textAlign = ["right", "center", "left"][direction + 1];
  context.globalAlpha = alpha;
  context.font = `${layout.type.fine}px ${font}`;
  context.fillStyle = INK[theme].text;
  context.fillText(digits(best.value), left, middle);
  if (!mark) return;
  context.fillStyle = choice.heads[best.head].colour;
  if (direction) context.fillRect(start + (direction < 0 ? -6 : 0), middle - 3, 6, 6);
  else context.fillRect(left - 12, middle + (side ? 7 : -9) * layout.type.unit, 24, 2);
}
