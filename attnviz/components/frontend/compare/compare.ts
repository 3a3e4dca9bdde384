// Compare: A, B and A − B on one board, and a line with the numbers of the hovered or pinned cell.

import { Board } from "../board/board.ts";
import { parts, rowParts } from "./line.ts";
import { element, screenReaderOnly, theme } from "../core/dom.ts";
import { span, write } from "../core/template.ts";
import { setTheme } from "../core/colours.ts";
import { COMPARED_LEVELS } from "../core/constants.ts";
import { Marks } from "../marks/marks.ts";
import { PendingUpdates } from "../core/pending_updates.ts";
import { NOTHING, samePin } from "../core/pin.ts";
import { Focus } from "../board/focus.ts";
import { BLOCK, scrolled } from "../core/streamlit.ts";
import { forPointer } from "../core/touch.ts";

const SETTLE = 300; // ms: arrow keys run through many cells, the server needs only the last
const NARROW = 640; // px: from here on the matrices stand side by side
const WIDE = 1000; // px: from here on A and B have a colour bar even where their colours go from 0 to 1, as everywhere
// The height of one of several stacked matrices: 330 px, or in a low window what the buttons above them leave
const EACH = "min(330px, max(13rem, 100vh - 9.4rem))";
const ROWS = "divergence"; // the one column that has a number for each row
const AGAIN = 5000; // ms without the picture after which it is asked for again
const COMING = "The numbers of this comparison are on their way …";
const HINT = "Point at a cell to read both numbers and their difference; a click or a tap pins it.";

class Compare {
  painted = 0;
  host: Host;
  header: CompareHeader | null = null;
  matrices: Record<string, Float32Array> = {};
  panels: Panel[] = [];
  wanting = 0; // the timer, until the picture is asked for again
  /** how the matrices stand */
  way: string | null = null;
  fresh = false;
  updates;
  hovered: Cell | null = null;
  section: HTMLElement = element("section", { class: "compare", "aria-label": "A, B and their difference" });
  frame = element("div", { class: "frame" });
  line = element("p", { class: "line" });
  announcement: HTMLParagraphElement = screenReaderOnly({ role: "status" });
  board = new Board(this.frame, {
    onPoint: (at) => this.point(at),
    onClick: (at) => this.click(at),
    onMove: ({ query, key }) => this.setPin({ q: query, k: key }, SETTLE),
  });
  focus = new Focus(this.board, (name) => this.setFocus(name));
  ends = new AbortController();
  sizes: ResizeObserver = new ResizeObserver(() => {
    this.fit();
    this.arrange();
  });
  /** what a word of a lesson's sentence names */
  named: Target | null = null;
  marks: Marks;

  constructor(root: HTMLElement, host: Host) {
    this.host = host;
    this.updates = new PendingUpdates(host, { pin: NOTHING, focus: "" });
    this.section.append(this.frame, this.line, this.announcement);
    root.append(this.section);
    this.line.attnvizPinned = () => (this.pinned() ? this.said() : "");
    this.board.element.addEventListener("attnviz-drawn", () => this.note());
    this.updates.followLeaving(this.ends.signal);
    this.board.element.addEventListener("keydown", (event) => this.key(event), { signal: this.ends.signal });
    this.sizes.observe(this.section);
    // What stands above may come and go, or wrap.
    for (const around of document.querySelectorAll(BLOCK)) this.sizes.observe(around);
    this.marks = new Marks([document], {
      onName: (target) => this.name(target),
      onPin: (target) => this.pinNamed(target),
    });
  }

  update(payload: Payload<CompareHeader> | null) {
    if (payload) this.take(payload);
    const shade = theme(this.section);
    setTheme(this.section, shade);
    this.board.setTheme(shade);
    this.draw();
  }

  take({ header, arrays }: Payload<CompareHeader>) {
    const { q = null, k = null, focus = "", acknowledged } = header;
    this.updates.receive({ pin: { q, k }, focus }, acknowledged);
    this.focus.name = this.updates.values.focus || null;
    if (header.trace === this.header?.trace) {
      this.arrange(); // only the pin or the focus is another
      return;
    }
    const { panels } = header;
    if (!panels) {
      this.want(); // only what is chosen was sent, of a picture that never came
      return;
    }
    clearTimeout(this.wanting);
    this.section.removeAttribute("data-coming");
    this.header = header;
    this.matrices = Object.fromEntries(
      Object.entries(arrays).map(([name, { data }]) => [name, decode(data, header.ranges[name])]),
    );
    this.panels = panels.map((panel) => ({
      ...panel,
      data: this.matrices[panel.name],
      shape: arrays[panel.name].shape as [number, number],
      rows: "query",
      cols: panel.name === ROWS ? "" : "key",
      numbered: true,
      reasons: header.mask_reasons?.[panel.name],
    }));
    this.hovered = null;
    this.way = null;
    this.fresh = true;
    this.arrange();
  }

  /** Asks for a picture until it comes; nothing of the one before stays meanwhile. */
  want() {
    Object.assign(this, { header: null, panels: [] });
    this.section.setAttribute("data-coming", "");
    write(this.line, span("quiet", COMING));
    this.host.say("want", true);
    clearTimeout(this.wanting);
    this.wanting = setTimeout(() => this.want(), AGAIN);
  }

  /** One matrix takes the whole picture, or all share it again. */
  setFocus(name: string | null) {
    if (!this.updates.set({ focus: name ?? "" })) return;
    this.focus.name = name;
    this.arrange();
  }

  /** In lecture mode all is to be seen at once: the picture leaves as much room below it as the page says. */
  fit() {
    const { style } = this.section;
    const below = getComputedStyle(this.section).getPropertyValue("--compare-below");
    const above = this.section.getBoundingClientRect().top + scrolled();
    if (below) style.setProperty("--compare-height", `calc(100vh - ${above}px - ${below})`);
    else style.removeProperty("--compare-height");
  }

  /** Puts the matrices side by side where there is room, else one below the other. */
  arrange() {
    if (!this.header || !this.panels.length) return;
    if (!this.panels.some(({ name }) => name === this.focus.name)) this.focus.name = null;
    const { name: alone } = this.focus;
    const width = this.section.clientWidth;
    const stacked = width > 0 && width < NARROW;
    const plain = width < WIDE && this.panels[1].scale === "weights" && this.panels[1].high === 1;
    const way = `${stacked} ${plain} ${alone}`;
    if (way === this.way) return;
    this.way = way;
    this.section.toggleAttribute("data-focus", alone !== null);
    this.frame.style.height = stacked && alone === null ? `calc(3 * ${EACH})` : "";
    const grid = stacked ? [[0], [1], [2]] : [this.panels.map((_, i) => i)];
    // A and B share their colours, so one bar serves both where they stand side by side.
    const bars = stacked ? ["a", "b", "difference"] : plain ? ["difference"] : ["b", "difference"];
    for (const panel of this.panels) panel.bar = bars.includes(panel.name);
    const { labels, alt, own } = this.header;
    const always = { query: changed(own, "query"), key: changed(own, "key") };
    const widths = stacked ? [1] : this.panels.map(({ name }) => (name === ROWS ? 0.12 : 1));
    const picture = {
      panels: this.panels,
      grid,
      labels,
      always,
      alt,
      widths,
      heights: grid.map(() => 1),
      products: {},
    };
    this.board.show(this.focus.of(picture));
  }

  /** Marks on the element, for tests and benchmarks, that a new picture is complete. */
  note() {
    if (!this.header || !this.fresh || this.board.changing) return;
    this.fresh = false;
    this.painted += 1;
    this.section.dataset.painted = String(this.painted);
    this.section.dataset.quantity = this.header.quantity;
  }

  // ---- what is meant

  setPin(pin: Pair, wait: number) {
    if (!this.updates.set({ pin }, wait)) return;
    this.draw();
    this.announcement.textContent = this.pinned() ? `Pinned. ${this.line.textContent}` : "Nothing is pinned.";
  }

  point(at: Cell | null) {
    if (at?.panel === this.hovered?.panel && at?.i === this.hovered?.i && at?.j === this.hovered?.j) return;
    this.hovered = at;
    this.draw();
  }

  click({ panel, i, j }: Cell) {
    const at = { q: i, k: panel === ROWS ? this.mostChanged(i) : j };
    this.setPin(samePin(at, this.pin) ? NOTHING : at, 0);
  }

  /** The column where a row differs most. */
  mostChanged(i: number) {
    const count = this.header?.labels.key.length ?? 0;
    const sizes = Array.from(this.matrices.difference.subarray(i * count, (i + 1) * count), (x) => Math.abs(x) || 0);
    return sizes.indexOf(Math.max(...sizes));
  }

  key(event: KeyboardEvent) {
    if (event.key === "Escape" && this.pinned()) this.setPin(NOTHING, 0);
    // The keys lead, not a resting pointer.
    else if (event.key.startsWith("Arrow") && this.pinned()) this.hovered = null;
  }

  name(target: Target | null) {
    this.named = target;
    this.draw();
  }

  /** A cell is pinned; what is a row or a column only, is in its arithmetic. */
  pinNamed({ row: q, column: k }: Target) {
    const at = { q: q ?? this.pin.q ?? 0, k: k ?? this.pin.k ?? (q === null ? 0 : this.mostChanged(q)) };
    this.setPin(samePin(at, this.pin) ? NOTHING : at, 0);
  }

  /** What is pinned. */
  get pin(): Pair {
    return this.updates.values.pin;
  }

  pinned() {
    return this.pin.q !== null && this.pin.k !== null;
  }

  draw() {
    if (!this.header) return;
    const { q, k } = this.pin;
    const lit = { hovered: this.hovered, pinned: { query: q, key: k } };
    this.board.light({ ...lit, named: this.named });
    this.marks.show({ ...lit, panels: this.board.panels() });
    const pinned = q !== null && k !== null ? { panel: "", i: q, j: k } : null;
    this.write(this.header, this.hovered ?? pinned);
  }

  /** The line as one text, its parts apart. */
  said() {
    return Array.from(this.line.children, ({ textContent }) => textContent).join(" · ");
  }

  write(header: CompareHeader, at: { panel: string; i: number; j: number } | null) {
    const { matrices, line } = this;
    if (!at || at.i >= header.labels.query.length || at.j >= header.labels.key.length) {
      write(line, span("quiet", forPointer(HINT)));
      return;
    }
    const place = at.i * header.labels.key.length + at.j;
    const numbers = Object.fromEntries(Object.entries(matrices).map(([name, data]) => [name, data[place]]));
    numbers[ROWS] = matrices[ROWS]?.[at.i] ?? NaN;
    write(line, ...(at.panel === ROWS ? rowParts(header, at.i, numbers) : parts(header, at, numbers)));
  }

  destroy() {
    clearTimeout(this.wanting);
    this.marks.destroy();
    this.updates.destroy();
    this.ends.abort();
    this.sizes.disconnect();
    this.board.destroy();
    this.section.remove();
  }
}

/** The rows or columns that A and B do not both have, or name differently. */
const changed = ({ a, b }: CompareHeader["own"], side: "query" | "key") =>
  a[side].flatMap((label, i) => (label === b[side][i] ? [] : [i]));

/**
 * A matrix as float32: as it came, or from 16-bit levels of a range, where the highest stands for no number.
 */
export function decode(data: Numbers, range: [number, number] | null | undefined): Float32Array {
  if (!range) return data as Float32Array;
  const [low, high] = range;
  const step = (high - low) / COMPARED_LEVELS.full;
  return Float32Array.from(data, (level) => (level === COMPARED_LEVELS.missing ? NaN : low + level * step));
}

export default Compare;
