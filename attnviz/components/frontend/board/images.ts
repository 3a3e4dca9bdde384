// A cache of the images of a board's matrices.

import { canvasOf, cellPixels } from "./image.ts";
import { mixed } from "./morph.ts";

export class BoardImages {
  known: WeakMap<Float32Array, { name: string; cells: CellPixels; canvas?: HTMLCanvasElement }>;
  /** the canvases of matrices on their way to the next step */
  mixing: Map<string, HTMLCanvasElement>;

  constructor() {
    this.known = new WeakMap();
    this.mixing = new Map();
  }

  /** Clears the cache, because another theme has other colours. */
  clear() {
    this.known = new WeakMap();
  }

  /** A placed matrix's cells as a canvas; `sizeOf(place)` is how many rows and columns the screen can show. */
  of(at: Place, theme: Theme, sizeOf: (at: Place) => CellCount) {
    if (at.mix) {
      const pixels = mixed(at.mix, (end) => this.cellsOf(end, theme, sizeOf(end)).cells);
      return canvasOf(pixels, this.mixingCanvas(at.panel.name));
    }
    const kept = this.cellsOf(at, theme, sizeOf(at));
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
    if (kept?.name !== name) {
      kept = { name, cells: cellPixels(panel, theme, most) };
      this.known.set(panel.data, kept);
    }
    return kept;
  }
}
