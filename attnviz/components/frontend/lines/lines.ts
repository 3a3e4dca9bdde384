// Attention as lines from query tokens to key tokens, of one head or of several at once.
//
// There are three stacked canvases. The lower two hold all lines, the faint ones at the bottom; they are repainted only
// when numbers or the scroll position change. The top one has the tokens and the highlighted lines: hovering repaints
// only this one, and dims the others.

import { NOTHING } from "../core/pin.ts";
import { onDensity } from "../core/density.ts";
import { INK } from "../core/colours.ts";
import { contextOf, perFrame } from "../core/dom.ts";
import { linesPicture } from "../export/lines.ts";
import { Choice } from "./choice.ts";
import { Input } from "./input.ts";
import { longestOf, shortener } from "./labels.ts";
import { arrange, levelWith, typeOf } from "./layout.ts";
import { LinesPainter } from "./painter.ts";
import { pinSentence, tokenSentence } from "./sentences.ts";
import { Surface } from "./surface.ts";
import { leastType, measurer } from "../core/type.ts";
import type { Layout } from "./layout.ts";

const PAUSE = 60; // ms until the next frame: Chromium rasters what it was given first, and the user may go on

export class Lines {
  onPoint;
  onPin;
  state: LinesState = {
    queryLabels: [],
    keyLabels: [],
    heads: [],
    low: 0,
    high: 1,
    direction: "vertical",
    beside: null,
    threshold: 0,
    strongest: 0,
    theme: "light",
  };
  /** null while there is no room */
  layout: Layout | null = null;
  pointed: Token | null = null;
  font = "sans-serif";
  widthOf: WidthOf = () => 0;
  short: (side: number, i: number) => string = () => "";
  choice = new Choice([], this.state);
  lines;
  changed = { choice: true, layout: true, back: true, front: true, said: true, pin: true };
  surface = new Surface();
  painter = new LinesPainter(this.surface);
  element: HTMLDivElement;
  ask: FrameTask = perFrame(() => this.draw());
  sizes: ResizeObserver = new ResizeObserver(() => this.resized());
  ends = new AbortController();
  input: Input;
  waiting?: number;

  /**
   * Fills `root`. `onPoint({q, k} | null)` and `onPin({q, k})` say which token is meant; the other one is null.
   */
  constructor(
    root: HTMLElement,
    { onPoint = () => {}, onPin = () => {} }: { onPoint?: (at: Pair | null) => void; onPin?: (at: Pair) => void } = {},
  ) {
    this.onPoint = onPoint;
    this.onPin = onPin;
    this.lines = this.choice.lines();
    this.element = this.surface.element;
    this.element.attnvizPicture = linesPicture(this);
    this.element.addEventListener("scroll", () => this.scroll());
    root.append(this.element);
    this.sizes.observe(this.element);
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
   */
  update(changes: Partial<LinesState>) {
    const [old, now] = [this.state, { ...this.state, ...changes }];
    check(now);
    this.state = now;
    const differ = (...names: (keyof LinesState)[]) => names.some((name) => old[name] !== now[name]);
    const heads = !sameItems(old.heads, now.heads, ["at", "name", "colour", "rows", "cols"]);
    if (heads || differ("low", "high", "threshold", "strongest")) this.change("choice");
    if (!sameList(old.queryLabels, now.queryLabels) || !sameList(old.keyLabels, now.keyLabels)) this.changeTokens();
    const isMoved = old.beside?.from !== now.beside?.from || old.beside?.pitch !== now.beside?.pitch;
    if (isMoved || differ("direction", "theme") || old.heads.length !== now.heads.length) this.change("layout");
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

  point(token: Token | null) {
    if (sameToken(token, this.pointed)) return;
    this.pointed = token;
    this.state = { ...this.state, hovered: cellOf(token) };
    this.change("front");
    this.onPoint(token && cellOf(token));
  }

  walk(token: Token | null) {
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

  /** A cell of which only what exists is left. */
  within(cell: PartialPair | undefined) {
    const inside = (i: number | null | undefined, labels: string[]) =>
      i !== null && i !== undefined && labels[i] !== undefined ? i : null;
    return { q: inside(cell?.q, this.state.queryLabels), k: inside(cell?.k, this.state.keyLabels) };
  }

  /** Scrolls so that a token is in view. */
  show(token: Token | null) {
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

  change(what: keyof Lines["changed"]) {
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
    const beside = vertical ? levelWith(this.state.beside, leastType()) : null;
    const type = typeOf(leastType(), beside);
    const labels = [queryLabels, keyLabels];
    this.widthOf = measurer(contextOf(surface.front), `${type.label}px ${this.font}`);
    const longest = longestOf(labels, this.widthOf, vertical);
    const counts = labels.map(({ length }) => length);
    const layout = arrange({ direction, size, counts, heads: heads.length, longest, type, beside });
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

  /** Draws the rest, unless the user's next action comes first. */
  goOn(pause: number) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.ask(), pause);
  }

  /** While a token is pointed at that is shortened in the picture, all of it. */
  showWhole(layout: Layout) {
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

function check({ heads, queryLabels, keyLabels }: LinesState) {
  for (const { name, rows, cols, at } of heads) {
    if (rows === queryLabels.length && cols === keyLabels.length && at.length === rows * cols) continue;
    throw new RangeError(`${name}: ${at.length} values are not ${rows} × ${cols}, a query a row and a key a column`);
  }
}

const cellOf = (token: Token | null): Pair =>
  token ? { q: token.side === 0 ? token.index : null, k: token.side === 1 ? token.index : null } : NOTHING;
const sameCell = (a: PartialPair | undefined, b: PartialPair | undefined) =>
  (a?.q ?? null) === (b?.q ?? null) && (a?.k ?? null) === (b?.k ?? null);
const sameToken = (a: Token | null, b: Token | null) => a?.side === b?.side && a?.index === b?.index;
const sameList = (a: string[], b: string[]) =>
  a === b || (a.length === b.length && a.every((item, i) => item === b[i]));
const sameItems = (a: LineHead[], b: LineHead[], names: (keyof LineHead)[]) =>
  a === b || (a.length === b.length && a.every((item, i) => names.every((name) => item[name] === b[i][name])));
