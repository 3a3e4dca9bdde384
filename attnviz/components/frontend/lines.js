// Attention as lines from query tokens to key tokens, of one head or of several at once.
//
// Canvases lie on one another. The lower two hold all lines, the faint ones below; they change with the numbers and
// with scrolling only. The front has the tokens and the lines of those that are meant: pointing repaints it alone, and
// makes the others pale.

import { INK } from "./colours.js";
import { contextOf, perFrame } from "./dom.js";
import { linesPicture } from "./export_lines.js";
import { Choice } from "./lines_choice.js";
import { Input } from "./lines_input.js";
import { longestOf, measurer, shortener } from "./lines_labels.js";
import { arrange, typeOf } from "./lines_layout.js";
import { pinSentence, tokenSentence } from "./lines_says.js";
import { Strokes, trace } from "./lines_strokes.js";
import { Surface } from "./lines_surface.js";
import { paintWords } from "./lines_words.js";
import { leastType } from "./type.js";

const PALE = 0.1; // what is left of the other lines while a token is meant
const FIRST = 500; // thin lines in a frame that answers the user
const NEXT = 1500; // in each frame after that
const PAUSE = 60; // ms until the next frame: Chromium rasters what it was given first, and the user may go on
const NOTHING = { q: null, k: null };

export class Lines {
  /** Fills `root`. `onPoint({q, k} | null)` and `onPin({q, k})` say which token is meant; the other one is null. */
  constructor(root, { onPoint = () => {}, onPin = () => {} } = {}) {
    Object.assign(this, { onPoint, onPin });
    this.state = {
      queryLabels: [],
      keyLabels: [],
      heads: [],
      low: 0,
      high: 1,
      direction: "vertical",
      threshold: 0,
      strongest: 0,
      theme: "light",
    };
    this.changed = { choice: true, layout: true, back: true, front: true, said: true, pin: true };
    this.surface = new Surface();
    this.element = this.surface.element;
    this.element.attnvizPicture = linesPicture(this);
    this.element.addEventListener("scroll", () => this.scroll());
    root.append(this.element);
    this.ask = perFrame(() => this.draw());
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(this.element);
    this.ends = new AbortController();
    document.fonts?.addEventListener("loadingdone", () => this.change("layout"), { signal: this.ends.signal });
    this.watchDensity();
    this.input = new Input(this.element, {
      hit: (x, y) => this.layout?.hit(x, y) ?? null,
      start: () => this.start(),
      layout: () => this.layout,
      point: (token) => this.point(token),
      walk: (token) => this.walk(token),
      pick: (token) => this.onPin(cellOf(token)),
    });
  }

  /**
   * Takes the whole state or what changed of it; see the fields in the constructor, and `hovered` and `pinned` {q, k}.
   */
  update(changes) {
    const [old, now] = [this.state, { ...this.state, ...changes }];
    check(now);
    this.state = now;
    const differ = (...names) => names.some((name) => old[name] !== now[name]);
    const heads = !sameItems(old.heads, now.heads, ["at", "name", "colour", "rows", "cols"]);
    if (heads || differ("low", "high", "threshold", "strongest")) this.change("choice");
    if (!sameList(old.queryLabels, now.queryLabels) || !sameList(old.keyLabels, now.keyLabels)) this.changeTokens();
    if (differ("direction", "theme") || old.heads.length !== now.heads.length) this.change("layout");
    if (!sameCell(old.hovered, now.hovered)) this.change("front");
    if (!sameCell(old.pinned, now.pinned)) this.change("pin");
  }

  /** Of another text, no token is pointed at yet. */
  changeTokens() {
    this.pointed = null;
    this.input.cursor = null;
    this.change("layout");
  }

  /** How many weights are drawn as lines, of how many there are: {shown, total}. */
  get drawn() {
    this.choose();
    return { shown: this.lines.length, total: this.choice.total };
  }

  // ---- what is meant

  point(token) {
    if (sameToken(token, this.pointed)) return;
    this.pointed = token;
    this.state = { ...this.state, hovered: cellOf(token) };
    this.change("front");
    this.onPoint(token && cellOf(token));
  }

  walk(token) {
    this.point(token);
    this.show(token);
    this.change("said");
  }

  /** The token where the arrow keys begin. */
  start() {
    const { q, k } = this.within(this.state.pinned);
    if (q !== null) return { side: 0, index: q };
    if (k !== null) return { side: 1, index: k };
    const side = this.layout.counts[0] ? 0 : 1;
    return this.layout.counts[side] ? { side, index: this.layout.visible(side)[0] } : null;
  }

  /** A cell of which only what exists is left. */
  within(cell) {
    const inside = (i, labels) => (Number.isInteger(i) && i >= 0 && i < labels.length ? i : null);
    return { q: inside(cell?.q, this.state.queryLabels), k: inside(cell?.k, this.state.keyLabels) };
  }

  /** Scrolls so that a token is in view. */
  show(token) {
    const offset = token && this.layout?.reveal(token.side, token.index);
    if (typeof offset !== "number") return;
    this.surface.offset = offset;
    this.scroll();
  }

  scroll() {
    if (!this.layout) return;
    this.layout.scroll(this.surface.offset);
    this.change("back");
    this.change("front");
    this.input.moved();
  }

  resized() {
    const { width, height } = this.surface.size;
    if (width !== this.layout?.size.width || height !== this.layout.size.height) this.change("layout");
  }

  // ---- what is worked out once

  change(what) {
    this.changed[what] = true;
    this.ask();
  }

  choose() {
    if (!this.changed.choice) return;
    Object.assign(this.changed, { choice: false, back: true, front: true, said: true });
    this.choice = new Choice(this.state.heads, this.state);
    this.lines = this.choice.lines();
    const { length } = this.lines;
    Object.assign(this.element.dataset, { shown: length, total: this.choice.total });
    const { heads, queryLabels, keyLabels } = this.state;
    const tokens = `${queryLabels.length} query tokens, ${keyLabels.length} key tokens`;
    const count = `${heads.length} head${heads.length === 1 ? "" : "s"}`;
    this.element.setAttribute("aria-label", `Attention as lines: ${tokens}, ${count}. Arrow keys move, Enter pins.`);
  }

  /** Lays everything out anew where that is needed; says whether there is a layout: without room there is none. */
  lay() {
    const { queryLabels, keyLabels, direction, heads } = this.state;
    const { surface } = this;
    const vertical = direction !== "horizontal";
    surface.turn(vertical);
    const { size } = surface;
    if (!size.width || !size.height) {
      this.layout = null; // not to be seen now: laid out when it is
      this.changed.layout = true;
      return false;
    }
    if (!this.changed.layout) return true;
    Object.assign(this.changed, { layout: false, back: true, front: true, said: true });
    this.font = surface.font;
    const type = typeOf(leastType());
    const labels = [queryLabels, keyLabels];
    this.widthOf = measurer(contextOf(surface.front), `${type.label}px ${this.font}`);
    const longest = longestOf(labels, this.widthOf, vertical);
    const counts = labels.map(({ length }) => length);
    this.layout = arrange({ direction, size, counts, heads: heads.length, longest, type });
    this.short = shortener(labels, this.layout.room, this.widthOf);
    surface.fit(size, this.layout.travel);
    this.layout.scroll(surface.offset);
    this.input.moved();
    return true;
  }

  watchDensity() {
    const changed = () => {
      this.change("layout");
      this.watchDensity();
    };
    matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`).addEventListener("change", changed, {
      once: true,
      signal: this.ends.signal,
    });
  }

  // ---- painting

  draw() {
    this.choose();
    if (!this.lay()) return;
    if (this.changed.pin) {
      Object.assign(this.changed, { pin: false, front: true, said: true });
      const { q, k } = this.within(this.state.pinned);
      if (k !== null) this.show({ side: 1, index: k });
      if (q !== null) this.show({ side: 0, index: q });
    }
    const { back, front } = this.changed;
    const portion = back || front ? FIRST : NEXT;
    const { surface } = this;
    const left =
      portion - (front ? this.paintFront(portion) : this.litStrokes.paint(contextOf(surface.front), portion));
    if (back) this.startBack();
    const below = this.strokes.next > 0 ? surface.faint : surface.dark;
    if (left > 0) this.strokes.paint(contextOf(below), left);
    if (this.changed.said) this.say();
    Object.assign(this.changed, { back: false, front: false, said: false });
    const finished = this.litStrokes.finished && this.strokes.finished;
    Object.assign(this.element.dataset, { lit: this.litStrokes.lines.length, painted: this.strokes.count, finished });
    if (!finished) this.goOn(back || front ? PAUSE : 0);
  }

  /** Draws the rest, unless the user asks for something else before. */
  goOn(pause) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.ask(), pause);
  }

  strokesOf(lines) {
    const { layout } = this;
    const { density } = this.surface;
    return new Strokes({ lines, layout, density, colours: this.state.heads.map(({ colour }) => colour) });
  }

  startBack() {
    this.surface.wipe(this.surface.faint);
    this.surface.wipe(this.surface.dark);
    this.strokes = this.strokesOf(this.lines);
  }

  /** Paints all but the fainter ones of the lines that are meant; returns how many lines it drew. */
  paintFront(portion) {
    const { choice, layout, font, short, widthOf, surface } = this;
    const { theme } = this.state;
    const [hovered, pinned] = [this.state.hovered, this.state.pinned].map((cell) => this.within(cell));
    const meant = { q: hovered.q ?? pinned.q, k: hovered.k ?? pinned.k };
    const context = surface.wipe(surface.front);
    const both = (name) => [...new Set([hovered[name], pinned[name]])].filter((i) => i !== null);
    this.litStrokes = this.strokesOf(choice.touching(both("q"), both("k")));
    surface.fade(meant.q === null && meant.k === null ? 1 : PALE);
    if (meant.q !== null && meant.k !== null) this.underline(context, meant);
    const spent = this.litStrokes.paint(context, portion);
    const lit = { meant: pair(meant), hovered: pair(hovered), pinned: pair(pinned), cursor: this.input.cursor };
    paintWords({ context, layout, theme, font, choice, short, widthOf }, lit);
    this.showWhole();
    return spent;
  }

  /** A broad band under the line between two tokens that are both meant. */
  underline(context, { q, k }) {
    const { layout, choice } = this;
    if (!this.state.heads.some((_, h) => choice.keeps(h, q, k))) return;
    context.save();
    this.litStrokes.clip(context);
    context.beginPath();
    trace(context, layout, layout.at(0, q), layout.at(1, k));
    Object.assign(context, { lineWidth: 9, globalAlpha: 0.2, strokeStyle: INK[this.state.theme].text });
    context.stroke();
    context.restore();
  }

  /** While a token is pointed at that is shortened in the picture, all of it. */
  showWhole() {
    const { side, index } = this.pointed ?? {};
    const label = this.pointed && [this.state.queryLabels, this.state.keyLabels][side][index];
    const shortened = Boolean(label) && this.short(side, index) !== label;
    this.surface.whole.show(shortened ? label : null, {
      side,
      index,
      layout: this.layout,
      font: this.font,
      ink: INK[this.state.theme],
    });
  }

  say() {
    const { queryLabels, keyLabels, pinned } = this.state;
    const given = { choice: this.choice, queryLabels, keyLabels };
    const { cursor } = this.input;
    const text = cursor ? tokenSentence(cellOf(cursor), given) : pinSentence(this.within(pinned), given);
    const { status } = this.surface;
    if (status.textContent !== text) status.textContent = text;
  }

  destroy() {
    clearTimeout(this.waiting);
    this.ends.abort();
    this.input.destroy();
    this.sizes.disconnect();
    this.ask.cancel();
    this.element.remove();
  }
}

function check({ heads, queryLabels, keyLabels }) {
  for (const { name, rows, cols, at } of heads) {
    if (rows === queryLabels.length && cols === keyLabels.length && at.length === rows * cols) continue;
    throw new RangeError(`${name}: ${at.length} values are not ${rows} × ${cols}, a query a row and a key a column`);
  }
}

const pair = ({ q, k }) => [q, k];
const cellOf = (token) =>
  token ? { q: token.side === 0 ? token.index : null, k: token.side === 1 ? token.index : null } : NOTHING;
const sameCell = (a, b) => (a?.q ?? null) === (b?.q ?? null) && (a?.k ?? null) === (b?.k ?? null);
const sameToken = (a, b) => a?.side === b?.side && a?.index === b?.index;
const sameList = (a, b) => a === b || (a.length === b.length && a.every((item, i) => item === b[i]));
const sameItems = (a, b, names) =>
  a === b || (a.length === b.length && a.every((item, i) => names.every((name) => item[name] === b[i][name])));
