// Reduces matrices to thumbnails by the maximum of each block; an average would hide single peaks.

import { MASK_REASONS, THUMBNAIL } from "../core/constants.ts";
import { reasonOf } from "../core/mask_reasons.ts";

const REASONS = Object.keys(MASK_REASONS);

/** Where each of `size` blocks of a side of `length` cells begins, and at last its end. */
export function blocks(length: number, size: number) {
  return Int32Array.from({ length: size + 1 }, (_, block) => Math.floor((block * length) / size));
}

/** Pools 16-bit weights, (heads, rows, cols), to bytes: {data, height, width}, 255 for a weight of 1. */
export function poolWeights(codes: Uint16Array, heads: number, rows: number, cols: number) {
  const [height, width] = [Math.min(rows, THUMBNAIL), Math.min(cols, THUMBNAIL)];
  const [down, across] = [blocks(rows, height), blocks(cols, width)];
  const data = new Uint8Array(heads * height * width);
  for (let n = 0; n < heads; n += 1) {
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        let most = 0;
        for (let i = n * rows + down[y]; i < n * rows + down[y + 1]; i += 1) {
          for (let at = i * cols + across[x]; at < i * cols + across[x + 1]; at += 1) {
            if (codes[at] > most) most = codes[at];
          }
        }
        data[(n * height + y) * width + x] = Math.round(most / 257);
      }
    }
  }
  return { data, height, width };
}

/**
 * One byte a block, where every cell of it is hidden: 1 and the place of the reason among MASK_REASONS, the first one's
 * of several, 1 where that is not known; else 0. Null where nothing is hidden.
 */
export function poolHidden(
  { rows, cols, causal, hidden, reasons }: Pick<HeadFrame, "rows" | "cols" | "causal" | "hidden" | "reasons">,
  height: number,
  width: number,
) {
  if (!causal && !hidden && !reasons) return null;
  const [down, across] = [blocks(rows, height), blocks(cols, width)];
  const pooled = new Uint8Array(height * width);
  const why = (i: number, j: number) => {
    const reason = reasons && reasonOf(reasons, i, j);
    if (reason) return 1 + REASONS.indexOf(reason);
    return (causal && j > i) || hidden?.[i * cols + j] === 1 ? 1 : 0;
  };
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      let first = 255;
      for (let i = down[y]; first && i < down[y + 1]; i += 1) {
        for (let j = across[x]; first && j < across[x + 1]; j += 1) first = Math.min(first, why(i, j));
      }
      pooled[y * width + x] = first;
    }
  }
  return pooled;
}
