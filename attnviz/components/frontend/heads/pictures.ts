// The chosen heads as lines and as heatmaps, side by side: the same numbers, with linked highlighting. While a head's
// weights are loading, its blurred thumbnail and a note are shown.

import { Board } from "../board/board.ts";
import { cellPixels, canvasOf } from "../board/image.ts";
import { element } from "../core/dom.ts";
import { NOTHING } from "../core/pin.ts";
import { template, write } from "../core/template.ts";
import { Lines } from "../lines/lines.ts";
import type { Child } from "../core/template.ts";

const LEAST = 110; // px: smaller heatmaps are left out
const LABELS = { width: 118, height: 110 }; // px that a board's labels and titles take beside its matrices
const BAR = { width: 32, from: 300 }; // px that its colour bar takes, where the pane is at least so wide
const TITLE = 50; // px above each matrix and between two

/** a token or a cell; of a cell also in which head's heatmap */
export type Pointed = Pair & { head?: string };
/** what is shown */
export interface PicturesProps extends Pick<ShownScene, "heads" | "high" | "least" | "strongest"> {
  rows: number;
  cols: number;
  labels: { query: string[]; key: string[] };
  view: HeadsView;
  theme: Theme;
}

export class Pictures {
  lineRoom = element("div", { class: "pane lines" });
  boardRoom = element("div", { class: "pane heatmap" });
  waiting = element("div", { class: "waiting", hidden: true });
  element = element("div", { class: "pictures" }, this.lineRoom, this.boardRoom, this.waiting);
  lines: Lines;
  board: Board;
  sizes: ResizeObserver = new ResizeObserver(() => this.arrange());
  light: { hovered: Pair & { head?: string }; pinned: Pair } = { hovered: NOTHING, pinned: NOTHING };
  given: PicturesProps | null = null;
  lineHeads: LineHead[] = [];
  panels: Panel[] = [];
  arrangement = ""; // how the heatmaps stand
  fit = 0; // how many are shown
  /** the rows of the heatmaps as they were drawn last */
  beside: MatrixRows | null;

  /** `onPin` is a click on a cell or a token, `onMove` an arrow key. */
  constructor(
    root: HTMLElement,
    {
      onPoint,
      onPin,
      onMove,
    }: { onPoint: (at: Pointed | null) => void; onPin: (at: Pair) => void; onMove: (at: Pair) => void },
  ) {
    root.append(this.element);
    this.lines = new Lines(this.lineRoom, { onPoint, onPin });
    this.board = new Board(this.boardRoom, {
      onPoint: (at) => onPoint(at && { q: at.i, k: at.j, head: at.panel }),
      onClick: ({ i, j }) => onPin({ q: i, k: j }),
      onMove: ({ query, key }) => onMove({ q: query, k: key }),
    });
    this.beside = null;
    this.board.element.addEventListener("attnviz-drawn", () => {
      this.beside = this.rowsBeside();
      this.lines.update({ beside: this.beside });
    });
    this.sizes.observe(this.boardRoom);
  }

  update(given: PicturesProps) {
    this.given = given;
    this.waiting.hidden = true;
    this.element.dataset.show = given.view.show;
    this.element.dataset.direction = given.view.direction;
    this.element.dataset.heads = given.heads.length > 1 ? "several" : "one";
    this.board.setTheme(given.theme);
    if (given.view.show !== "lines") this.showBoard(given);
    this.drawLines();
    this.drawLight();
  }

  // ---- lines

  drawLines() {
    if (!this.given || this.given.view.show === "heatmap") return;
    const { heads, rows, cols, labels, view, high, least, strongest, theme } = this.given;
    this.lineHeads = sameHeads(this.lineHeads, heads, rows, cols);
    this.lines.update({
      queryLabels: labels.query,
      keyLabels: labels.key,
      heads: this.lineHeads,
      low: 0,
      high,
      direction: view.direction,
      beside: view.show === "both" ? this.beside : null,
      threshold: least,
      strongest,
      hovered: this.light.hovered,
      pinned: this.light.pinned,
      theme,
    });
  }

  /** The rows of the heatmaps, where they stand in one row beside the lines: a line begins level with its own. */
  rowsBeside(): MatrixRows | null {
    const places = this.board.places ?? [];
    const [lines, board] = [this.lineRoom, this.boardRoom].map((room) => room.getBoundingClientRect());
    const isBeside = this.given?.view.show === "both" && lines.right <= board.left;
    if (!isBeside || this.board.views.zoomed || !places.length || places.some(({ row }) => row > 0)) return null;
    const [{ y, height, panel }] = places;
    return { from: board.top - lines.top + y, pitch: height / panel.shape[0] };
  }

  /** How many weights are drawn as lines: {shown, total}. */
  get drawn() {
    return this.lines.drawn;
  }

  // ---- heatmaps

  showBoard({ heads, rows, cols, high }: PicturesProps) {
    this.panels = heads.map((head) => panelOf(head, { rows, cols, high }));
    this.arrangement = "";
    this.arrange();
  }

  /** Lays out as many heatmaps as are readable. */
  arrange() {
    if (!this.given || !this.panels.length || this.given.view.show === "lines") return;
    const { clientWidth, clientHeight } = this.boardRoom;
    if (!clientWidth) return;
    const { columns, fit } = tiling(this.panels.length, clientWidth, clientHeight);
    const barred = clientWidth >= BAR.from || fit === 1; // else the numbers above each matrix must do
    const rightmost = barred ? Math.floor(fit / columns) * columns - 1 : null; // the last one there
    const arrangement = `${columns} ${fit} ${barred}`;
    if (this.arrangement === arrangement) return;
    this.arrangement = arrangement;
    this.fit = fit;
    const panels = this.panels.slice(0, fit).map((panel, n) => ({ ...panel, bar: n === rightmost }));
    const grid = [];
    for (let n = 0; n < fit; n += columns) {
      grid.push(Array.from({ length: columns }, (_, c) => (n + c < fit ? n + c : null)));
    }
    this.board.show({ panels, grid, labels: this.given.labels });
    this.drawLight();
  }

  // ---- light

  setLight(light: Pictures["light"]) {
    this.light = light;
    this.drawLines();
    this.drawLight();
  }

  drawLight() {
    const { hovered, pinned } = this.light;
    const any = hovered.q !== null || hovered.k !== null;
    const panel = hovered.head ?? this.panels[0]?.name ?? "";
    this.board.light({
      hovered: any ? { panel, rows: "query", cols: "key", i: hovered.q, j: hovered.k } : null,
      pinned: { query: pinned.q, key: pinned.k },
    });
  }

  // ---- not here yet

  /**
   * Shows a thumbnail in place of the numbers: `overview` {data, height, width}, its head's place `n`, and a note.
   */
  wait({ overview, n, note, theme }: { overview: Overview | null; n: number; note: Child[]; theme: Theme }) {
    write(this.waiting, overview && blurred(overview, n, theme), template("p", { class: "note" }, ...note));
    this.waiting.hidden = false;
  }

  destroy() {
    this.sizes.disconnect();
    this.lines.destroy();
    this.board.destroy();
    this.element.remove();
  }
}

/** A head as a matrix of the board. */
function panelOf(
  { name, colour, at, reasons, kept }: ShownHead,
  { rows, cols, high }: CellCount & { high: number },
): Panel {
  return {
    name,
    title: name,
    role: "attention",
    ink: colour,
    data: at,
    reasons,
    shape: [rows, cols],
    rows: "query",
    cols: "key",
    low: 0,
    high,
    scale: "weights",
    numbered: true,
    ...(kept && { blank: leftOut(kept) }),
  };
}

/** The rows and columns that are left out. */
export function leftOut({ queries, keys }: Kept): CellBox[] {
  const boxes: CellBox[] = [];
  queries.forEach((isKept, row) => isKept || boxes.push({ row, column: 0, rows: 1, columns: keys.length }));
  keys.forEach((isKept, column) => isKept || boxes.push({ row: 0, column, rows: queries.length, columns: 1 }));
  return boxes;
}

/** The lines' own form of the heads; the same list as before where the numbers are the same. */
function sameHeads(before: LineHead[], heads: ShownHead[], rows: number, cols: number): LineHead[] {
  const unchanged =
    before.length === heads.length &&
    heads.every(
      ({ name, colour, at }, n) => before[n].at === at && before[n].name === name && before[n].colour === colour,
    );
  return unchanged ? before : heads.map(({ name, colour, at }) => ({ name, colour, rows, cols, at }));
}

/** How many heatmaps stay readable in a room, and in how many columns they are largest. */
export function tiling(count: number, width: number, height: number) {
  const beside = LABELS.width + (width >= BAR.from ? BAR.width : 0);
  for (let fit = count; fit >= 1; fit -= 1) {
    let best = { columns: 1, fit, side: -Infinity };
    for (let columns = 1; columns <= fit; columns += 1) {
      const rows = Math.ceil(fit / columns);
      const side = Math.min((width - beside) / columns - 18, (height - LABELS.height + TITLE) / rows - TITLE);
      if (side > best.side) best = { columns, fit, side };
    }
    if (best.side >= LEAST || fit === 1) return best;
  }
  return { columns: 1, fit: 0, side: 0 };
}

function blurred({ data, height, width }: Overview, n: number, theme: Theme) {
  const panel: Coloured = {
    data: Float32Array.from(data.subarray(n * height * width, (n + 1) * height * width), (byte) =>
      Math.sqrt(byte / 255),
    ),
    shape: [height, width],
    low: 0,
    high: 1,
    scale: "weights",
  };
  const canvas = canvasOf(cellPixels(panel, theme));
  canvas.className = "blurred";
  canvas.setAttribute("aria-hidden", "true");
  return canvas;
}
