// Paints lines and tokens on the canvases of a surface, within a time limit per frame.

import { INK } from "../core/colours.js";
import { contextOf } from "../core/dom.js";
import { Strokes } from "./strokes.js";
import { paintWords } from "./tokens.js";

/** @typedef {import("./tokens.js").WordsPen} WordsPen */
/**
 * What there is to paint.
 * @typedef {Omit<WordsPen, "context"> & {
 *   lines: import("./choice.js").Bundle, heads: LineHead[], hovered: Pair, pinned: Pair, cursor: Token | null
 * }} LinesScene
 */

const PALE = 0.1; // what is left of the other lines while a token is meant
const FIRST = 500; // thin lines in a frame that answers the user
const NEXT = 1500; // in each frame after that

export class LinesPainter {
  /** @param {import("./surface.js").Surface} surface */
  constructor(surface) {
    this.surface = surface;
    /** @type {Strokes | null} all lines */
    this.strokes = null;
    /** @type {Strokes | null} the lines of the tokens that are meant */
    this.lit = null;
  }

  /**
   * Paints what has changed, and as many lines as there is time for; returns what the element says about it: how many
   * lines stand out, how many there are, and whether all are painted.
   * @param {LinesScene} scene @param {{ back: boolean, front: boolean }} changed
   */
  paint(scene, { back, front }) {
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

  /** @param {LinesScene} scene @param {import("./choice.js").Bundle} lines */
  strokesOf({ layout, heads }, lines) {
    const colours = heads.map(({ colour }) => colour);
    return new Strokes({ lines, layout, density: this.surface.density, colours });
  }

  /** @param {LinesScene} scene */
  startBack(scene) {
    this.surface.wipe(this.surface.faint);
    this.surface.wipe(this.surface.dark);
    return this.strokesOf(scene, scene.lines);
  }

  /** Empties the front for the lines that are meant. @param {LinesScene} scene */
  startFront(scene) {
    const { choice, hovered, pinned, theme } = scene;
    const context = this.surface.wipe(this.surface.front);
    const strokes = this.strokesOf(scene, choice.touching(both(hovered.q, pinned.q), both(hovered.k, pinned.k)));
    const { q, k } = meant(scene);
    this.surface.fade(q === null && k === null ? 1 : PALE);
    if (q !== null && k !== null && choice.connects(q, k)) strokes.underline(context, q, k, INK[theme].text);
    return strokes;
  }

  /** Writes the tokens over the first lines. @param {LinesScene} scene */
  writeTokens(scene) {
    const { hovered, pinned, cursor } = scene;
    const lit = { meant: pair(meant(scene)), hovered: pair(hovered), pinned: pair(pinned), cursor };
    paintWords({ ...scene, context: contextOf(this.surface.front) }, lit);
  }
}

/** @param {LinesScene} scene */
const meant = ({ hovered, pinned }) => ({ q: hovered.q ?? pinned.q, k: hovered.k ?? pinned.k });
/** @param {Pair} at */
const pair = ({ q, k }) => [q, k];
/** @param {number | null} a @param {number | null} b */
const both = (a, b) => [...new Set([a, b])].filter((i) => i !== null);
