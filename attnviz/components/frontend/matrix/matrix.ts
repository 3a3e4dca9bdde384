// One matrix on a board, and a line that says the cell which is pointed at or pinned. Where cells are chosen, each
// chosen one has a frame, and a click chooses a cell or takes it back.

import { forPointer } from "../core/touch.ts";
import { Board } from "../board/board.ts";
import { moved } from "../board/picture.ts";
import { setTheme } from "../core/colours.ts";
import { element, screenReaderOnly, setText, theme } from "../core/dom.ts";
import { weightText } from "../core/format.ts";
import { PendingUpdates } from "../core/pending_updates.ts";
import { NOTHING, samePin } from "../core/pin.ts";

const ACTS = ["Enter", " "]; // keys that choose the pinned cell

class Matrix {
  header: MatrixHeader | null;
  panel: Panel | null;
  updates;
  hovered: Pair;
  pin: Pair;
  section: HTMLElement;
  line: HTMLParagraphElement;
  announcement: HTMLParagraphElement;
  board: Board;
  ends: AbortController;

  constructor(root: HTMLElement, host: Host) {
    this.header = null;
    this.panel = null;
    this.updates = new PendingUpdates(host, { chosen: "" });
    this.hovered = NOTHING;
    this.pin = NOTHING;
    this.section = element("section", { class: "matrix" });
    const frame = element("div", { class: "frame" });
    this.line = element("p", { class: "line" });
    this.announcement = screenReaderOnly({ role: "status" });
    this.section.append(frame, this.line, this.announcement);
    root.append(this.section);
    this.board = new Board(frame, {
      onPoint: (at) => {
        this.hovered = { q: at?.i ?? null, k: at?.j ?? null };
        this.draw();
      },
      onClick: ({ i, j }) => this.click({ q: i, k: j }),
    });
    this.ends = new AbortController();
    this.updates.followLeaving(this.ends.signal);
    this.board.element.addEventListener("keydown", (event) => this.key(event), { signal: this.ends.signal });
  }

  update(payload: Payload<MatrixHeader> | null) {
    if (payload) this.take(payload);
    const shade = theme(this.section);
    setTheme(this.section, shade);
    this.board.setTheme(shade);
    this.draw();
  }

  take({ header, arrays: { values } }: Payload<MatrixHeader>) {
    this.updates.receive({ chosen: header.chosen ?? "" }, header.acknowledged);
    const before = this.header && JSON.stringify([this.header.labels, this.header.panel.name]);
    if (before !== JSON.stringify([header.labels, header.panel.name])) this.hovered = this.pin = NOTHING;
    const [rows, columns] = values.shape;
    this.header = header;
    this.panel = { ...header.panel, data: values.data as Float32Array, shape: [rows, columns] };
    this.board.show({ panels: [this.panel], grid: [[0]], labels: header.labels, alt: header.alt });
  }

  // ---- what is pinned and chosen

  click(at: Pair) {
    if (this.header?.chosen !== null) this.choose(at);
    else this.setPin(samePin(at, this.pin) ? NOTHING : at);
  }

  /** Chooses a cell, or takes it back. */
  choose({ q, k }: Pair) {
    const name = `${q}.${k}`;
    const { chosen } = this;
    const others = chosen.filter((cell) => cell !== name);
    this.updates.set({ chosen: (others.length < chosen.length ? others : [...chosen, name]).join("_") });
    this.draw();
    const [switched, back] = this.header?.click_results ?? ["", ""];
    setText(this.announcement, `${this.reading({ q, k })}; ${others.length < chosen.length ? back : switched}`);
  }

  setPin(pin: Pair) {
    this.pin = pin;
    this.draw();
    this.announce(pin);
  }

  key(event: KeyboardEvent) {
    if (!this.panel || event.ctrlKey || event.metaKey || event.altKey) return;
    const [rows, columns] = this.panel.shape;
    const { q, k } = this.pin;
    const to = moved(event, { query: q, key: k }, { query: Array(rows).fill(""), key: Array(columns).fill("") });
    if (to) {
      this.hovered = NOTHING; // the keys lead, not a resting pointer
      this.setPin({ q: to.query, k: to.key });
    } else if (q !== null && event.key === "Escape") this.setPin(NOTHING);
    else if (q !== null && this.header?.chosen !== null && ACTS.includes(event.key)) this.choose(this.pin);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The chosen cells, by their names. */
  get chosen() {
    return this.updates.values.chosen.split("_").filter(Boolean);
  }

  // ---- what is seen

  draw() {
    if (!this.panel) return;
    const { name, rows, cols } = this.panel;
    const [{ q, k }, { pin }] = [this.hovered, this];
    this.board.light({
      hovered: q === null ? null : { panel: name, rows, cols, i: q, j: k },
      pinned: { query: null, key: null, [rows]: pin.q, [cols]: pin.k },
      framed: this.chosen.map((cell) => cell.split(".").map(Number) as Point),
    });
    setText(this.line, this.said(q === null ? pin : this.hovered) || forPointer(this.header?.hint ?? ""));
  }

  announce(at: Pair) {
    setText(this.announcement, this.said(at) || "Nothing is pinned.");
  }

  /** What is known of a cell, and what a click does to it. */
  said(at: Pair) {
    const reading = this.reading(at);
    const effects = this.header?.click_effects;
    return reading && effects ? `${reading}; ${effects[this.chosen.includes(`${at.q}.${at.k}`) ? 1 : 0]}` : reading;
  }

  /** What is known of a cell. */
  reading({ q, k }: Pair) {
    if (!this.panel || !this.header || q === null || k === null) return "";
    const [rows, columns] = this.panel.shape;
    if (q >= rows || k >= columns) return "";
    const { readings } = this.header;
    const place = q * columns + k;
    return readings ? readings[place] : this.weight(q, k, this.panel.data[place]);
  }

  weight(q: number, k: number, value: number) {
    const name = (kind: string | undefined, n: number) => `${n} ${this.header?.labels[kind ?? ""]?.[n] ?? ""}`.trim();
    const shown = Number.isNaN(value) ? this.header?.hidden : weightText(value);
    return `${name(this.panel?.rows, q)} → ${name(this.panel?.cols, k)}: ${shown}`;
  }

  destroy() {
    this.updates.destroy();
    this.ends.abort();
    this.board.destroy();
    this.section.remove();
  }
}

export default Matrix;
