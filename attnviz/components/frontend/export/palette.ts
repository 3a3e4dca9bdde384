// Few colours for a picture, by median cut: a box of colours is halved until there are enough, each time the one with
// the widest side, of boxes alike the one with more pixels.

const BITS = 5; // of each channel that colours are told apart by
const KINDS = 1 << (3 * BITS);

/** colours that are alike */
export type Kind = { sum: [number, number, number]; count: number };

/** At most `most` colours, and how pixels are mapped to them. @param samples RGBA, little-endian */
export function paletteOf(samples: Uint32Array[], most: number) {
  let boxes = [kindsOf(samples)];
  while (boxes.length < most) {
    const widest = boxes.reduce((best, box) => (spread(box).weight > spread(best).weight ? box : best));
    if (widest.length < 2) break;
    boxes = [...boxes.filter((box) => box !== widest), ...halved(widest)];
  }
  const colours = boxes.map(mean);
  const known = new Int16Array(KINDS).fill(-1);
  return {
    colours,
    map(pixels: Uint32Array) {
      const indices = new Uint8Array(pixels.length);
      for (let n = 0; n < pixels.length; n += 1) {
        const kind = kindOf(pixels[n]);
        if (known[kind] < 0) known[kind] = nearest(colours, pixels[n]);
        indices[n] = known[kind];
      }
      return indices;
    },
  };
}

const kindOf = (pixel: number) =>
  ((pixel >> 3) & 31) | (((pixel >> 11) & 31) << BITS) | (((pixel >> 19) & 31) << (2 * BITS));

function kindsOf(samples: Uint32Array[]): Kind[] {
  const counts = new Float64Array(KINDS);
  const sums = new Float64Array(3 * KINDS);
  const found: number[] = [];
  for (const pixels of samples) {
    for (const pixel of pixels) {
      const kind = kindOf(pixel);
      if (!counts[kind]) found.push(kind);
      counts[kind] += 1;
      sums[3 * kind] += pixel & 255;
      sums[3 * kind + 1] += (pixel >> 8) & 255;
      sums[3 * kind + 2] += (pixel >> 16) & 255;
    }
  }
  return found.map((kind) => ({
    sum: [sums[3 * kind], sums[3 * kind + 1], sums[3 * kind + 2]],
    count: counts[kind],
  }));
}

const level = ({ sum, count }: Kind, channel: number) => sum[channel] / count;

const spreads: WeakMap<Kind[], { channel: number; weight: number }> = new WeakMap();

/** The channel in which a box is widest, and what is lost where all of it has one colour. */
function spread(box: Kind[]) {
  const known = spreads.get(box);
  if (known) return known;
  const widths = [0, 1, 2].map((channel) => {
    const levels = box.map((kind) => level(kind, channel));
    return Math.max(...levels) - Math.min(...levels);
  });
  const width = Math.max(...widths);
  const pixels = box.reduce((sum, { count }) => sum + count, 0);
  const made = { channel: widths.indexOf(width), weight: width * Math.sqrt(pixels) };
  spreads.set(box, made);
  return made;
}

function halved(box: Kind[]) {
  const { channel } = spread(box);
  const sorted = box.toSorted((a, b) => level(a, channel) - level(b, channel));
  const half = sorted.length >> 1;
  return [sorted.slice(0, half), sorted.slice(half)];
}

/** The colour of most of a box's pixels. */
function mean(box: Kind[]) {
  const most = box.reduce((best, one) => (one.count > best.count ? one : best), box[0] ?? { sum: [0, 0, 0], count: 1 });
  return [0, 1, 2].map((channel) => Math.round(level(most, channel)));
}

function nearest(colours: number[][], pixel: number) {
  const [red, green, blue] = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
  let [best, least] = [0, Infinity];
  for (const [n, [r, g, b]] of colours.entries()) {
    const far = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
    if (far < least) [best, least] = [n, far];
  }
  return best;
}
