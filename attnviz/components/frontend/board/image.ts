// A matrix as an image with one pixel per cell; if the screen has fewer pixels, the largest value of each block.

import { colourCells, SCALES } from "../core/colours.ts";
import { contextOf } from "../core/dom.ts";

/**
 * The matrix's cells as pixels: {pixels: Uint32Array, width, height}. `most` is how many rows and columns the screen
 * can show: a matrix with more is pooled by largest magnitude, so that a single bright cell stays visible.
 */
export function cellPixels(
  panel: Coloured,
  theme: Theme,
  most: CellCount = { rows: Infinity, cols: Infinity },
): CellPixels {
  const {
    data,
    shape: [height, width],
  } = pool(panel.data, panel.shape, most);
  const pixels = new Uint32Array(width * height);
  colourCells(pixels, data, width * height, { low: panel.low, high: panel.high, colours: SCALES[theme][panel.scale] });
  return { pixels, width, height };
}

export function pool(
  data: Float32Array,
  [rows, cols]: [number, number],
  most: CellCount,
): { data: Float32Array; shape: [number, number] } {
  const height = Math.max(1, Math.min(rows, Math.floor(most.rows)));
  const width = Math.max(1, Math.min(cols, Math.floor(most.cols)));
  if (height === rows && width === cols) return { data, shape: [rows, cols] };
  const pooled = new Float32Array(height * width).fill(NaN);
  const sizes = new Float32Array(height * width).fill(-1);
  const across = Int32Array.from({ length: cols }, (_, j) => Math.floor((j * width) / cols));
  for (let i = 0; i < rows; i += 1) {
    const row = Math.floor((i * height) / rows) * width;
    for (let j = 0; j < cols; j += 1) {
      const x = data[i * cols + j];
      const at = row + across[j];
      if (Math.abs(x) > sizes[at]) {
        // false for NaN: hidden cells are skipped
        sizes[at] = Math.abs(x);
        pooled[at] = x;
      }
    }
  }
  return { data: pooled, shape: [height, width] };
}

/** A canvas with these pixels; `canvas` is used again where it is given. */
export function canvasOf(
  { pixels, width, height }: CellPixels,
  canvas: HTMLCanvasElement = document.createElement("canvas"),
) {
  canvas.width = width;
  canvas.height = height;
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer as ArrayBuffer), width, height);
  contextOf(canvas).putImageData(image, 0, 0);
  return canvas;
}

/**
 * Mixes two pictures of matrices of one shape; `share(i, j)` is the share of the second in its pixel (i, j). Where they
 * are pooled to different sizes, the first is stretched over the second.
 */
export function mixPixels(
  from: CellPixels,
  to: CellPixels,
  share: (i: number, j: number) => number,
  out: Uint32Array = new Uint32Array(to.pixels.length),
): CellPixels {
  const across = Int32Array.from({ length: to.width }, (_, j) => Math.floor((j * from.width) / to.width));
  for (let i = 0, at = 0; i < to.height; i += 1) {
    const row = Math.floor((i * from.height) / to.height) * from.width;
    for (let j = 0; j < to.width; j += 1, at += 1) {
      const [a, b] = [from.pixels[row + across[j]], to.pixels[at]];
      const s = a === b ? 0 : share(i, j); // most cells are at one end, and nothing is to be mixed
      out[at] = s <= 0 ? a : s >= 1 ? b : mixedPixel(a, b, s);
    }
  }
  return { pixels: out, width: to.width, height: to.height };
}

function mixedPixel(a: number, b: number, s: number) {
  const [opaqueA, opaqueB] = [a >>> 24, b >>> 24];
  // A hidden cell has no colour of its own: only its opacity changes.
  const seen = opaqueA && opaqueB ? s : opaqueB ? 1 : 0;
  let mixed = (opaqueA + (opaqueB - opaqueA) * s) << 24;
  for (let shift = 0; shift < 24; shift += 8) {
    const [from, to] = [(a >>> shift) & 255, (b >>> shift) & 255];
    mixed |= (from + (to - from) * seen) << shift;
  }
  return mixed >>> 0;
}
