// A row of the left matrix of a product that stands upright in the empty corner, beside the rows of the right matrix.

import { cornerOf } from "../board/paint.ts";
import { INK } from "../core/colours.ts";

const WIDEST = 48; // px of its cells, in units of type
const MOST = 0.3; // of the corner's width
const ABOVE = 6; // px between it and its name
const ASIDE = 8; // px from the names of the rows that it stands beside
const GAP = 12; // px left of it

/** Its column, and the px that it takes of the corner. */
export type Strip = { x: number; y: number; width: number; room: number };

/** Its place; null where the product has no empty corner. */
export function stripOf(
  { context, font, type }: BoardPen,
  { beside, name }: Upright,
  { places, picture }: { places: Place[]; picture: BoardPicture },
): Strip | null {
  const corner = cornerOf(picture, places);
  const place = places.find(({ panel }) => panel.name === beside);
  if (!corner || !place || place.row !== 0 || corner.width <= 0) return null;
  const width = Math.min(place.width / place.panel.shape[1], WIDEST * type.unit, corner.width * MOST);
  context.font = `${type.fine}px ${font}`;
  const room = Math.max(width, context.measureText(name).width) + ASIDE + GAP;
  const x = corner.x + corner.width - ASIDE - width;
  return { x, y: place.y, width, room: Math.min(room, corner.width) };
}

/** Writes its name above it. */
export function paintStrip({ context, theme, font, type }: BoardPen, { name, ink }: Upright, { x, y, width }: Strip) {
  Object.assign(context, { font: `${type.fine}px ${font}`, fillStyle: INK[theme][ink] });
  Object.assign(context, { textAlign: "right", textBaseline: "alphabetic" });
  context.fillText(name, x + width, y - ABOVE * type.unit);
}
