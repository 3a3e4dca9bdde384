// Attention as lines from query tokens to key tokens, of one head or of several at once.
//
// There are three stacked canvases. The lower two hold all lines, the faint ones at the bottom; they are repainted only
// when numbers or the scroll position change. The top one has the tokens and the highlighted lines: hovering repaints
// only this one, and dims the others.

import { onDensity } from "../core/density.js";
import { INK } from "../core/colours.js";
import { contextOf, perFrame } from "../core/dom.js";
import { linesPicture } from "../export/lines.js";
import { Choice } from "./choice.js";
import { Input } from "./input.js";
import { longestOf, shortener } from "./labels.js";
import { arrange, typeOf } from "./layout.js";
import { LinesPainter } from "./painter.js";
import { pinSentence, tokenSentence } from "./sentences.js";
import { Surface } from "./surface.js";
import { leastType, measurer } from "../core/type.js";

/** @typedef {import("./layout.js").Layout} Layout */

const PAUSE = 60; // ms until the next frame: Chromium rasters what it was given first, and the user may go on
/** @type {Pair} */
const NOTHING = { q: null, k: null };

export class Lines {
  /**
   * Fills `root`. `onPoint({q, k} | null)` and `onPin({q, k})` say which token is meant; the other one is null.
   * @param {HTMLElement} root @param {{ onPoint?: (at: Pair | null) => void, onPin?: (at: Pair) => void }} does
   */
  constructor(root, { onPoint = () => {}, onPin = () => {} } = {}) {
    this.onPoint = onPoint;
    this.onPin = onPin;
    /** @type {LinesState} */
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
    /** @type {Layout | null} null while there is no room */
    this.layout = null;
    /** @type {Token | null} */
    this.pointed = null;
    this.font = "sans-serif";
    /** @type {WidthOf} */
    this.widthOf = () => 0;
    /** @type {(side: number, i: number) => string} */
    this.short = () => "";
    this.choice = new Choice([], this.state);
    this.lines = this.choice.lines();
    this.changed = { choice: true, layout: true, back: true, front: true, said: true, pin: true };
    this.surface = new Surface();
    this.painter = new LinesPainter(this.surface);
    this.element = this.surface.element;
    this.element.attnvizPicture = linesPicture(this);
    this.element.addEventListener("scroll", () => this.scroll());
    root.append(this.element);
    this.ask = perFrame(() => this.draw());
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(this.element);
    this.ends = new AbortController();
    document.fonts?.addEventListener("loadingdone", () => this.change("layout"), { signal: this.ends.signal });
    onDensity(() => this.change("layout"), this.ends.signal);
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
   * @param {Partial<LinesState>} changes
   */
  update(changes) {
    const [old, now] = [this.state, { ...this.state, ...changes }];
    check(now);
    this.state = now;
    /** @param {(keyof LinesState)[]} names */
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

  // ---- hovered and pinned tokens

  /** @param {Token | null} token */
  point(token) {
    if (sameToken(token, this.pointed)) return;
    this.pointed = token;
    this.state = { ...this.state, hovered: cellOf(token) };
    this.change("front");
    this.onPoint(token && cellOf(token));
  }

  /** @param {Token | null} token */
  walk(token) {
    this.point(token);
    this.show(token);
    this.change("said");
  }

  /** The token where the arrow keys begin. */
  start() {
    const { layout } = this;
    if (!layout) return null;
    const { q, k } = this.within(this.state.pinned);
    if (q !== null) return { side: 0, index: q };
    if (k !== null) return { side: 1, index: k };
    const side = layout.counts[0] ? 0 : 1;
    return layout.counts[side] ? { side, index: layout.visible(side)[0] } : null;
  }

  /**
   * A cell of which only what exists is left.
   * @param {PartialPair | undefined} cell
   */
  within(cell) {
    /** @param {number | null | undefined} i @param {string[]} labels */
    const inside = (i, labels) => (i !== null && i !== undefined && labels[i] !== undefined ? i : null);
    return { q: inside(cell?.q, this.state.queryLabels), k: inside(cell?.k, this.state.keyLabels) };
  }

  /**
   * Scrolls so that a token is in view.
   * @param {Token | null} token
   */
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
    if (width !== this.layout?.size.width || height !== this.layout?.size.height) this.change("layout");
  }

  // ---- layout and choice of lines

  /** @param {keyof Lines["changed"]} what */
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
    Object.assign(this.element.dataset, { shown: String(length), total: String(this.choice.total) });
    const { heads, queryLabels, keyLabels } = this.state;
    const tokens = `${queryLabels.length} query tokens, ${keyLabels.length} key tokens`;
    const count = `${heads.length} head${heads.length === 1 ? "" : "s"}`;
    this.element.setAttribute("aria-label", `Attention as lines: ${tokens}, ${count}. Arrow keys move, Enter pins.`);
  }

  /** Lays everything out anew where that is needed; returns the layout, null where there is no room for one. */
  lay() {
    const { queryLabels, keyLabels, direction, heads } = this.state;
    const { surface } = this;
    const vertical = direction !== "horizontal";
    surface.turn(vertical);
    const { size } = surface;
    if (!size.width || !size.height) {
      this.layout = null; // not to be seen now: laid out when it is
      this.changed.layout = true;
      return null;
    }
    if (this.layout && !this.changed.layout) return this.layout;
    Object.assign(this.changed, { layout: false, back: true, front: true, said: true });
    this.font = surface.font;
    const type = typeOf(leastType());
    const labels = [queryLabels, keyLabels];
    this.widthOf = measurer(contextOf(surface.front), `${type.label}px ${this.font}`);
    const longest = longestOf(labels, this.widthOf, vertical);
    const counts = labels.map(({ length }) => length);
    const layout = arrange({ direction, size, counts, heads: heads.length, longest, type });
    this.layout = layout;
    this.short = shortener(labels, layout.room, this.widthOf);
    surface.fit(size, layout.travel);
    layout.scroll(surface.offset);
    this.input.moved();
    return layout;
  }

  // ---- painting

  draw() {
    this.choose();
    const layout = this.lay();
    if (!layout) return;
    if (this.changed.pin) {
      Object.assign(this.changed, { pin: false, front: true, said: true });
      const { q, k } = this.within(this.state.pinned);
      if (k !== null) this.show({ side: 1, index: k });
      if (q !== null) this.show({ side: 0, index: q });
    }
    const { back, front, said } = this.changed;
    const { choice, lines, font, short, widthOf } = this;
    const { heads, theme } = this.state;
    const [hovered, pinned] = [this.within(this.state.hovered), this.within(this.state.pinned)];
    const scene = { layout, choice, lines, font, short, widthOf, heads, theme, hovered, pinned };
    const painted = this.painter.paint({ ...scene, cursor: this.input.cursor }, { back, front });
    Object.assign(this.element.dataset, painted);
    if (front) this.showWhole(layout);
    if (said) this.say();
    Object.assign(this.changed, { back: false, front: false, said: false });
    if (painted.finished !== "true") this.goOn(back || front ? PAUSE : 0);
  }

  /**
   * Draws the rest, unless the user's next action comes first.
   * @param {number} pause
   */
  goOn(pause) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.ask(), pause);
  }

  /**
   * While a token is pointed at that is shortened in the picture, all of it.
   * @param {Layout} layout
   */
  showWhole(layout) {
    const { whole } = this.surface;
    const { side = 0, index = 0 } = this.pointed ?? {};
    const label = this.pointed && [this.state.queryLabels, this.state.keyLabels][side][index];
    const shortened = label !== null && this.short(side, index) !== label;
    whole.show(shortened ? label : null, { side, index, layout, font: this.font, ink: INK[this.state.theme] });
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

/** @param {LinesState} state */
function check({ heads, queryLabels, keyLabels }) {
  for (const { name, rows, cols, at } of heads) {
    if (rows === queryLabels.length && cols === keyLabels.length && at.length === rows * cols) continue;
    throw new RangeError(`${name}: ${at.length} values are not ${rows} × ${cols}, a query a row and a key a column`);
  }
}

/** @param {Token | null} token @returns {Pair} */
const cellOf = (token) =>
  token ? { q: token.side === 0 ? token.index : null, k: token.side === 1 ? token.index : null } : NOTHING;
/** @param {PartialPair | undefined} a @param {PartialPair | undefined} b */
const sameCell = (a, b) => (a?.q ?? null) === (b?.q ?? null) && (a?.k ?? null) === (b?.k ?? null);
/** @param {Token | null} a @param {Token | null} b */
const sameToken = (a, b) => a?.side === b?.side && a?.index === b?.index;
/** @param {string[]} a @param {string[]} b */
const sameList = (a, b) => a === b || (a.length === b.length && a.every((item, i) => item === b[i]));
/** @param {LineHead[]} a @param {LineHead[]} b @param {(keyof LineHead)[]} names */
const sameItems = (a, b, names) =>
  a === b || (a.length === b.length && a.every((item, i) => names.every((name) => item[name] === b[i][name])));
