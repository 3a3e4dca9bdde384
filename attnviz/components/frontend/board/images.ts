// A cache of the images of a board's matrices: those of the last drawing, and of earlier ones while there is room.

import { canvasOf, cellPixels } from "./image.ts";
import { mixed } from "./morph.ts";

const MOST = 8 * 2 ** 20; // bytes of matrices and their images, but for those of the last drawing

interface Kept {
  name: string;
  cells: CellPixels;
  canvas?: HTMLCanvasElement;
  /** the drawing that it was last used in */
  drawing: number;
}

export class BoardImages {
  /** by the matrix, what was used longest ago first */
  known = new Map<Float32Array, Kept>();
  /** the canvases of matrices on their way to the next step */
  mixing = new Map<string, HTMLCanvasElement>();
  /** drawings that are complete */
  drawings = 0;

  /** Clears the cache, because another theme has other colours. */
  clear() {
    this.known.clear();
  }

  /** A placed matrix's cells as a canvas; `sizeOf(place)` is how many rows and columns the screen can show. */
  of(at: Place, theme: Theme, sizeOf: (at: Place) => CellCount) {
    if (!at.mix) return this.still(at, theme, sizeOf(at));
    const { from, to, t } = at.mix;
    if (from.panel.data === to.panel.data) {
      // Other limits are other colours: they change half-way.
      if (isColouredAs(from.panel, to.panel)) return this.moving(to, theme, sizeOf(to));
      const end = t >= 0.5 ? to : from;
      return this.still(end, theme, sizeOf(end));
    }
    // The first frame has to lay the step out already: the other end is coloured in the next one.
    if (t === 0 || t === 1) return this.moving(t === 0 ? from : to, theme, sizeOf(t === 0 ? from : to));
    const pixels = mixed(at.mix, (end) => this.cellsOf(end, theme, sizeOf(end)).cells);
    return canvasOf(pixels, this.mixingCanvas(at.panel.name));
  }

  still(at: Place, theme: Theme, most: CellCount) {
    const kept = this.cellsOf(at, theme, most);
    kept.canvas ??= canvasOf(kept.cells);
    return kept.canvas;
  }

  /** A matrix that only moves: its image is stretched, and made anew in its new size when it rests. */
  moving(at: Place, theme: Theme, most: CellCount) {
    const kept = this.known.get(at.panel.data);
    if (!kept) return this.still(at, theme, most);
    kept.canvas ??= canvasOf(kept.cells);
    return kept.canvas;
  }

  mixingCanvas(name: string) {
    const canvas = this.mixing.get(name) ?? document.createElement("canvas");
    this.mixing.set(name, canvas);
    return canvas;
  }

  cellsOf({ panel }: Place, theme: Theme, most: CellCount) {
    const { low, high, scale, shape } = panel;
    const name = [theme, scale, low, high, Math.min(most.rows, shape[0]), Math.min(most.cols, shape[1])].join();
    let kept = this.known.get(panel.data);
    if (kept?.name !== name) kept = { name, cells: cellPixels(panel, theme, most), drawing: 0 };
    kept.drawing = this.drawings;
    this.known.delete(panel.data);
    this.known.set(panel.data, kept);
    return kept;
  }

  /** A drawing in which nothing moves is complete: frees what it did not use, until the rest is small enough. */
  rest() {
    this.mixing.clear();
    const sizes = [...this.known].map(([data, kept]) => bytesOf(data, kept));
    let bytes = sizes.reduce((sum, size) => sum + size, 0);
    for (const [data, kept] of this.known) {
      if (bytes <= MOST || kept.drawing === this.drawings) break;
      this.known.delete(data);
      bytes -= bytesOf(data, kept);
    }
    this.drawings += 1;
  }
}

const isColouredAs = (one: Panel, other: Panel) =>
  one.low === other.low && one.high === other.high && one.scale === other.scale;

/** What a matrix and its image take; a canvas has as many pixels again. */
const bytesOf = (data: Float32Array, { cells, canvas }: Kept) =>
  data.byteLength + cells.pixels.byteLength * (canvas ? 2 : 1);
