// Matrices side by side on a board, with one pin over all of them, and a line that says the cell which is pointed at or
// pinned. Where cells are chosen, each chosen one has a frame, and a click chooses a cell or takes it back. Where a row
// is chosen, it is always pinned, and a click chooses the row of its cell.

import { forPointer } from "../core/touch.ts";
import { Board } from "../board/board.ts";
import { Focus } from "../board/focus.ts";
import { moved } from "../board/picture.ts";
import { setTheme } from "../core/colours.ts";
import { element, screenReaderOnly, setText, theme } from "../core/dom.ts";
import { weightText } from "../core/format.ts";
import { PendingUpdates } from "../core/pending_updates.ts";
import { Marks } from "../marks/marks.ts";
import { gridOf, NARROW } from "./arrange.ts";

const ACTS = ["Enter", " "]; // keys that choose the pinned cell
const SETTLE = 300; // ms: arrow keys run through many rows, the server needs only the last
const EACH = 300; // px: the height of a matrix that stands above others
const LONG = 6; // matrices: the line says the numbers of more in two rows

/** A cell of one of the matrices; without a column its whole row, without both none. */
interface At {
  panel: string;
  q: number | null;
  k: number | null;
}
const NOTHING: At = { panel: "", q: null, k: null };

class Matrix {
  header: MatrixHeader | null = null;
  panels: Panel[] = [];
  updates;
  hovered: At;
  /** what a word of a lesson names */
  named: Target | null = null;
  pin: At = NOTHING;
  section: HTMLElement = element("section", { class: "matrix" });
  frame = element("div", { class: "frame" });
  line = element("p", { class: "line" });
  announcement: HTMLParagraphElement = screenReaderOnly({ role: "status" });
  board = new Board(this.frame, {
    onPoint: (at) => {
      this.hovered = at ? { panel: at.panel, q: at.i, k: at.j } : NOTHING;
      this.draw();
    },
    onClick: ({ panel, i, j }) => this.click({ panel, q: i, k: j }),
  });
  focus = new Focus(this.board, (name) => this.setFocus(name));
  sizes: ResizeObserver = new ResizeObserver(() => this.arrange());
  marks: Marks;
  ends = new AbortController();

  constructor(root: HTMLElement, host: Host) {
    this.updates = new PendingUpdates<{ chosen: string; row: number | null }>(host, { chosen: "", row: null });
    this.hovered = NOTHING;
    this.section.append(this.frame, this.line, this.announcement);
    root.append(this.section);
    this.line.attnvizPinned = () => this.reading(this.pin);
    this.marks = new Marks([document], {
      onName: (target) => this.nameTarget(target),
      onPin: ({ row: q, column: k }) => this.setPin({ ...this.first(), q, k }),
      onHead: ([q, k]) => this.choose({ ...this.first(), q, k }),
    });
    this.updates.followLeaving(this.ends.signal);
    this.board.element.addEventListener("keydown", (event) => this.key(event), { signal: this.ends.signal });
    this.sizes.observe(this.section);
  }

  update(payload: Payload<MatrixHeader> | null) {
    if (payload) this.take(payload);
    const shade = theme(this.section);
    setTheme(this.section, shade);
    this.board.setTheme(shade);
    this.draw();
  }

  take({ header, arrays }: Payload<MatrixHeader>) {
    this.updates.receive({ chosen: header.chosen ?? "", row: header.row }, header.acknowledged);
    const names = (of: MatrixHeader) => JSON.stringify([of.labels, of.panels.map(({ name }) => name)]);
    if (this.header && names(this.header) !== names(header)) this.hovered = this.pin = NOTHING;
    this.header = header;
    this.panels = header.panels.map((panel) => {
      const { data, shape } = arrays[panel.name];
      return { ...panel, data: data as Float32Array, shape: shape as [number, number] };
    });
    if (!this.panels.some(({ name }) => name === this.focus.name)) this.focus.name = null;
    this.section.toggleAttribute("data-long", this.panels.length > LONG);
    const { row } = this.updates.values;
    if (row !== null) this.pin = { ...this.pin, panel: this.pin.panel || this.panels[0].name, q: row };
    this.arrange(true);
  }

  // ---- how they stand

  /** @param isNew whether the matrices are others; else nothing is done as long as they have the same room */
  arrange(isNew = false) {
    if (!this.header || !this.panels.length) return;
    const [width, count] = [this.section.clientWidth, this.panels.length];
    const isTall = width > 0 && width < NARROW && count > 1 && this.focus.name === null;
    const shapes = this.panels.map(({ shape }) => shape);
    const room = gridOf(shapes, { width, height: this.frame.clientHeight });
    this.frame.style.height = isTall ? `${EACH * room.length}px` : "";
    this.section.toggleAttribute("data-tall", isTall);
    const way = JSON.stringify([room, this.focus.name]);
    if (!isNew && way === this.section.dataset.way) return;
    this.section.dataset.way = way;
    const { labels, alt } = this.header;
    const isShared = count > 1 && this.panels.every((panel) => isAlong(panel, this.panels[0]));
    const picture = {
      // Matrices with the same axes have the same colours: one bar serves all.
      panels: this.panels.map((panel, n) => (isShared ? { ...panel, bar: !isTall && n === count - 1 } : panel)),
      grid: room,
      labels,
      alt,
      widths: room[0].map((n) => Math.sqrt(shapes[n ?? 0][1])), // a gap has the width of the others
      heights: room.map(() => 1),
      apart: isTall,
    };
    this.board.show(this.focus.of(picture));
    this.draw();
  }

  /** One matrix takes the whole picture, or all share it again. */
  setFocus(name: string | null) {
    this.focus.name = name;
    this.arrange();
  }

  /** Lights what a word names; where each cell is a head, that head. */
  nameTarget(target: Target | null) {
    this.named = target;
    const [q, k] = [target?.row ?? target?.layer ?? null, target?.column ?? target?.head ?? null];
    this.hovered = target ? { ...this.first(), q, k } : NOTHING;
    this.draw();
  }

  // ---- what is pinned and chosen

  click(at: At) {
    if (this.header?.chosen !== null) this.choose(at);
    else this.setPin(this.isPinned(at) ? NOTHING : at);
  }

  /** Chooses a cell, or takes it back. */
  choose(at: At) {
    const name = `${at.q}.${at.k}`;
    const { chosen } = this;
    const others = chosen.filter((cell) => cell !== name);
    this.updates.set({ chosen: (others.length < chosen.length ? others : [...chosen, name]).join("_") });
    this.draw();
    const [switched, back] = this.header?.click_results ?? ["", ""];
    setText(this.announcement, `${this.reading(at)}; ${others.length < chosen.length ? back : switched}`);
  }

  /** @param wait ms until the server is told the row */
  setPin(pin: At, wait = 0) {
    const { row } = this.updates.values;
    // A chosen row stays pinned: only its column is let go of.
    this.pin = row !== null && pin.q === null ? { ...this.pin, k: null } : pin;
    if (row !== null) this.updates.set({ row: this.pin.q }, wait);
    this.draw();
    this.announce();
  }

  key(event: KeyboardEvent) {
    const panel = this.panelOf(this.pin) ?? this.panels[0];
    if (!panel || event.ctrlKey || event.metaKey || event.altKey) return;
    const isButton = event.target instanceof Element && event.target.closest("button");
    if (isButton && ACTS.includes(event.key)) return; // the button's own
    const { q, k } = this.pin;
    const [rows, columns] = panel.shape;
    const counts = { query: Array(rows).fill(""), key: Array(columns).fill("") };
    const to = moved(event, { query: q, key: k }, counts);
    if (to) {
      this.hovered = NOTHING; // the keys lead, not a resting pointer
      this.setPin({ panel: panel.name, q: to.query, k: to.key }, SETTLE);
    } else if (event.key === "Enter" && q !== null && k === null) this.setPin({ panel: panel.name, q, k: 0 });
    else if (event.key === "Escape" && k !== null) this.setPin(NOTHING);
    else if (event.key === "Escape" && this.focus.name !== null) this.setFocus(null);
    else if (q !== null && this.header?.chosen !== null && ACTS.includes(event.key)) this.choose(this.pin);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The chosen cells, by their names. */
  get chosen() {
    return this.updates.values.chosen.split("_").filter(Boolean);
  }

  /** Whether a cell is the pinned one, or stands at its place in another matrix. */
  isPinned(at: At) {
    const [one, other] = [this.panelOf(at), this.panelOf(this.pin)];
    return one && other && isAlong(one, other) && at.q === this.pin.q && at.k === this.pin.k;
  }

  /** A place in the first matrix, of which a lesson's words speak. */
  first(): At {
    return { ...NOTHING, panel: this.panels[0]?.name ?? "" };
  }

  panelOf({ panel }: At) {
    return this.panels.find(({ name }) => name === panel);
  }

  // ---- what is seen

  draw() {
    if (!this.header) return;
    const [hovered, pinned] = [this.panelOf(this.hovered), this.panelOf(this.pin)];
    const [{ q, k }, { named }] = [this.hovered, this];
    const lit = {
      hovered:
        hovered && q !== null && k !== null
          ? { panel: hovered.name, rows: hovered.rows, cols: hovered.cols, i: q, j: k }
          : null,
      pinned: {
        query: null,
        key: null,
        ...(pinned && { [pinned.rows]: this.pin.q, [pinned.cols]: this.pin.k }),
      },
    };
    const framed = this.chosen.map((cell) => cell.split(".").map(Number) as Point);
    this.board.light({ ...lit, framed, named: named?.head === null ? named : null });
    this.marks.show({ ...lit, panels: this.board.panels() });
    setText(this.line, this.said(hovered ? this.hovered : this.pin) || forPointer(this.header.hint));
  }

  announce() {
    const { q, k } = this.pin;
    const panel = this.panelOf(this.pin);
    const said = panel && q !== null && k === null ? `Row ${this.name(panel.rows, q)}` : this.said(this.pin);
    setText(this.announcement, said || "Nothing is pinned.");
  }

  /** What is known of a cell, and what a click does to it. */
  said(at: At) {
    const reading = this.reading(at);
    const effects = this.header?.click_effects;
    const effect = effects?.[this.chosen.includes(`${at.q}.${at.k}`) ? 1 : 0];
    return reading && effect ? `${reading}; ${forPointer(effect)}` : reading;
  }

  /** What is known of a cell, in all matrices that have its row and its column. */
  reading({ panel, q, k }: At) {
    const own = this.panelOf({ panel, q, k });
    if (!own || !this.header || q === null || k === null) return "";
    const [rows, columns] = own.shape;
    if (q >= rows || k >= columns) return "";
    const place = q * columns + k;
    if (this.header.readings) return this.header.readings[place];
    const along = this.panels.filter((other) => isAlong(other, own));
    const numbers = along.map(({ name, data }) => {
      const shown = Number.isNaN(data[place]) ? this.header?.hidden : weightText(data[place]);
      return along.length > 1 ? `${name} ${shown}` : shown;
    });
    const between = own.rows === "query" ? "→" : "·";
    return `${this.name(own.rows, q)} ${between} ${this.name(own.cols, k)}: ${numbers.join(" · ")}`;
  }

  /** A row or a column: a token with its number, or what else it is called. */
  name(kind: string, n: number) {
    const label = this.header?.labels[kind]?.[n] ?? "";
    return kind === "query" || kind === "key" ? `${n} ${label}`.trim() : label;
  }

  destroy() {
    this.updates.destroy();
    this.ends.abort();
    this.sizes.disconnect();
    this.marks.destroy();
    this.board.destroy();
    this.section.remove();
  }
}

/** Whether two matrices have the same rows and columns. */
const isAlong = (one: Panel, other: Panel) => one.rows === other.rows && one.cols === other.cols;

export default Matrix;
