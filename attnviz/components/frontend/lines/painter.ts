// Paints lines and tokens on the canvases of a surface, within a time limit per frame.

import { INK } from "../core/colours.ts";
import { contextOf } from "../core/dom.ts";
import { Strokes } from "./strokes.ts";
import { paintWords } from "./tokens.ts";
import type { Surface } from "./surface.ts";
import type { Bundle } from "./choice.ts";
import type { WordsPen } from "./tokens.ts";

/** What there is to paint. */
export type LinesScene = Omit<WordsPen, "context"> & {
  lines: Bundle;
  heads: LineHead[];
  hovered: Pair;
  pinned: Pair;
  cursor: Token | null;
};

const PALE = 0.1; // what is left of the other lines while a token is meant
const FIRST = 500; // thin lines in a frame that answers the user
const NEXT = 1500; // in each frame after that

export class LinesPainter {
  surface;
  /** all lines */
  strokes: Strokes | null = null;
  /** the lines of the tokens that are meant */
  lit: Strokes | null = null;

  constructor(surface: Surface) {
    this.surface = surface;
  }

  /**
   * Paints what has changed, and as many lines as there is time for; returns what the element says about it: how many
   * lines stand out, how many there are, and whether all are painted.
   */
  paint(scene: LinesScene, { back, front }: { back: boolean; front: boolean }) {
    const { surface } = this;
    const portion = back || front ? FIRST : NEXT;
    const lit = front || !this.lit ? this.startFront(scene) : this.lit;
    this.lit = lit;
    const left = portion - lit.paint(contextOf(surface.front), portion);
    if (front) this.writeTokens(scene);
    const strokes = back || !this.strokes ? this.startBack(scene) : this.strokes;
    this.strokes = strokes;
    const below = strokes.next > 0 ? surface.faint : surface.dark;
    if (left > 0) strokes.paint(contextOf(below), left);
    const finished = lit.finished && strokes.finished;
    return { lit: String(lit.lines.length), painted: String(strokes.count), finished: String(finished) };
  }

  strokesOf({ layout, heads }: LinesScene, lines: Bundle) {
    const colours = heads.map(({ colour }) => colour);
    return new Strokes({ lines, layout, density: this.surface.density, colours });
  }

  startBack(scene: LinesScene) {
    this.surface.wipe(this.surface.faint);
    this.surface.wipe(this.surface.dark);
    return this.strokesOf(scene, scene.lines);
  }

  /** Empties the front for the lines that are meant. */
  startFront(scene: LinesScene) {
    const { choice, hovered, pinned, theme } = scene;
    const context = this.surface.wipe(this.surface.front);
    const strokes = this.strokesOf(scene, choice.touching(both(hovered.q, pinned.q), both(hovered.k, pinned.k)));
    const { q, k } = meant(scene);
    this.surface.fade(q === null && k === null ? 1 : PALE);
    if (q !== null && k !== null && choice.connects(q, k)) strokes.underline(context, q, k, INK[theme].text);
    return strokes;
  }

  /** Writes the tokens over the first lines. */
  writeTokens(scene: LinesScene) {
    const { hovered, pinned, cursor } = scene;
    const lit = { meant: pair(meant(scene)), hovered: pair(hovered), pinned: pair(pinned), cursor };
    paintWords({ ...scene, context: contextOf(this.surface.front) }, lit);
  }
}

const meant = ({ hovered, pinned }: LinesScene) => ({ q: hovered.q ?? pinned.q, k: hovered.k ?? pinned.k });
const pair = ({ q, k }: Pair) => [q, k];
const both = (a: number | null, b: number | null) => [...new Set([a, b])].filter((i) => i !== null);
