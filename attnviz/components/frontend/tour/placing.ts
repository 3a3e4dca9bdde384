// Where the card of a stop stands: beside what it points at, wholly in the window, over as little of it as possible.

const GAP = 12; // CSS px between the card and what it points at
const EDGE = 8; // CSS px between the card and the edge of the window

/**
 * The left upper corner of the card.
 * @param target what it points at
 * @param room the window
 */
export function placed(target: Box, card: Size, room: Size): { x: number; y: number } {
  const { x, y, width, height } = target;
  const [middle, centre] = [x + width / 2 - card.width / 2, y + height / 2 - card.height / 2];
  const places = [
    { x: middle, y: y + height + GAP }, // below
    { x: middle, y: y - card.height - GAP }, // above
    { x: x + width + GAP, y: centre }, // right
    { x: x - card.width - GAP, y: centre }, // left
  ];
  const inside = places.map((place) => ({
    x: within(place.x, room.width - card.width),
    y: within(place.y, room.height - card.height),
  }));
  const covered = inside.map((place) => overlap({ ...place, ...card }, target));
  return inside[covered.indexOf(Math.min(...covered))];
}

const within = (at: number, most: number) => Math.max(EDGE, Math.min(at, most - EDGE));

/** The area that two boxes share. */
export function overlap(a: Box, b: Box) {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return Math.max(0, width) * Math.max(0, height);
}
