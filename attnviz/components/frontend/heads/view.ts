// The explorer's layout: the grid and its controls on the left, the pictures on the right.

import { forPointer } from "../core/touch.ts";
import { setTheme } from "../core/colours.ts";
import { element, perFrame, setText } from "../core/dom.ts";
import { span, write } from "../core/template.ts";
import { ROLLOUT } from "./choice.ts";
import { makeMenu } from "../core/menu.ts";
import { Filters, ViewControls } from "./controls.ts";
import { Legend } from "./legend.ts";
import { Pictures } from "./pictures.ts";
import {
  cellReading,
  drawnText,
  headReading,
  gridMarks,
  headSentence,
  labelOfAll,
  labelsOf,
  shownLabels,
  marksNote,
  measureList,
  namedToken,
  tokenReading,
  waitingNote,
  windowsNote,
} from "./reading.ts";
import { fadedBy, ranked } from "./scene.ts";
import { Tooltip } from "./tooltip.ts";
import { isFaint } from "./values.ts";
import { darkenText, FAINT, gridSentence, headName, howToChoose } from "./words.ts";
import { Grid } from "../grid/grid.ts";
import { leastType } from "../core/type.ts";
import { BLOCK, scrolled } from "../core/streamlit.ts";
import type { Store } from "./store.ts";
import type { Pointed } from "./pictures.ts";

// Px, 16 in lecture mode, between the explorer and the window's end: what stands below it begins in sight.
const BOTTOM = 64;
const ABOVE = 260; // px that may stand above it before it is as high as a window that is scrolled down
const LEAST_HEIGHT = 520; // px, or of a low window, such as a frame in a slide,
const LEAST_SHARE = 0.8; // this much
const HALF = 0.5; // of the colours' range: where the largest weight is above, stretching them changes little
const SHARE = 0.62; // of the height at most for the grid
const COMING = "The weights of this text are on their way …";
const REST = "Point at a token or a cell; a click or a tap pins it, Esc lets it go.";

/** what the viewer can do */
export interface Acts {
  change: (change: Partial<HeadsView>) => void;
  choose: (head: HeadId, how: HowToChoose) => void;
  control: (change: Partial<HeadsView> & { rollout?: boolean }) => void;
  remove: (head: HeadId) => void;
  point: (at: Pointed | null) => void;
  pin: (at: Pair) => void;
  move: (at: Pair) => void;
  again: () => void;
  pointAtHead: () => void;
}
/** what is shown */
export interface ViewProps {
  store: Store;
  view: HeadsView;
  shown: ShownScene;
  labels: { query: string[]; key: string[] };
  theme: Theme;
  /** whether a head was asked for in vain */
  lost: (head: HeadId) => boolean;
}
/** the order and the faded heads of a trace, worked out once */
export interface Ranking {
  trace: string | null;
  sort?: string;
  order: Int32Array | null;
  label?: string;
  faded: Uint8Array | null;
}

export class View {
  on: Acts;
  given: ViewProps | null = null;
  ranking: Ranking = { trace: null, order: null, faded: null };
  /** what the readout says */
  said: ({ state: string; heads: ShownHead[] } & Pair) | null = null;
  pointed: HeadId | null = null;
  /** the numbers that were looked at for being faint */
  looked: Float32Array[] = [];
  areFaint = false;
  height: number = LEAST_HEIGHT;
  section: HTMLElement = element("section", {
    class: "explorer",
    "aria-label": "Explorer of heads",
    style: "visibility: hidden",
  });
  overview: HTMLElement = element("div", { class: "overview" });
  filters: Filters;
  grid: Grid;
  hint = element("p", { class: "hint" });
  measures: HTMLDListElement = element("dl", { class: "measures", dataset: { item: "measures" } });
  controls: ViewControls;
  menu;
  coming = element("p", { class: "coming", role: "status" });
  /** the legend, and the menu beside it */
  head: HTMLElement = element("div", { class: "head" });
  legend: Legend;
  pictures: Pictures;
  darken = element("button", { type: "button" });
  faint = element("p", { class: "faint", hidden: true }, element("span", { class: "note" }, FAINT), this.darken);
  drawn = element("p", { class: "drawn" });
  readout = element("div", { class: "readout", "aria-atomic": "true" }); // any change of it is said as a whole
  tooltip = new Tooltip(this.section);
  moved: FrameTask;
  sizes: ResizeObserver;

  constructor(root: HTMLElement, on: Acts) {
    this.on = on;
    const room = element("div", { class: "grid-room" });
    this.grid = new Grid(room, { onChoose: on.choose, onHover: (head) => this.pointAtHead(head) });
    this.filters = new Filters({ onChange: on.control });
    this.overview.append(room, this.hint, this.measures, this.filters.element);
    this.controls = new ViewControls({ onChange: on.control });
    this.menu = makeMenu("More", this.controls.form);

    const detail = element("div", { class: "detail" });
    detail.append(this.head);
    this.legend = new Legend(this.head, { onRemove: on.remove });
    this.pictures = new Pictures(detail, { onPoint: on.point, onPin: on.pin, onMove: on.move });
    this.darken.addEventListener("click", () => on.control({ stretch: "1" }));
    detail.append(element("footer", {}, this.faint, this.drawn, this.readout));

    this.section.append(this.coming, element("div", { class: "frame" }, this.overview, detail));
    root.append(this.section);
    // What stands above may come and go without new data: lecture mode, a note, a line that wraps.
    this.moved = perFrame(() => this.fitAgain());
    this.sizes = new ResizeObserver(this.moved);
    this.sizes.observe(this.section);
    for (const around of document.querySelectorAll(BLOCK)) this.sizes.observe(around);
  }

  /** Fades the picture of another text than the one that is on its way, and says so. */
  setComing(isComing: boolean) {
    this.section.toggleAttribute("data-coming", isComing);
    setText(this.coming, isComing ? COMING : "");
  }

  /** Whether the picture is of another text. */
  get isComing() {
    return this.section.hasAttribute("data-coming");
  }

  /** Draws all that depends on the view. */
  show(given: ViewProps) {
    this.given = given;
    setTheme(this.section, given.theme);
    const isOnlyGrid = Boolean(given.store.header.only_grid);
    this.section.classList.toggle("only-grid", isOnlyGrid);
    this.fit();
    this.showGrid(given);
    this.showControls(given);
    if (!isOnlyGrid) {
      this.showLegend(given);
      this.showPictures(given);
    }
    this.section.style.visibility = "";
  }

  showGrid({ store, view, shown, theme }: ViewProps) {
    const { layers, heads, measures, only_grid: isOnlyGrid } = store.header;
    if (this.ranking.trace !== store.trace) this.ranking = { trace: store.trace, order: null, faded: null };
    const kept = this.ranking;
    if (kept.sort !== view.sort) Object.assign(kept, { sort: view.sort, order: ranked(store, view.sort) });
    if (kept.label !== view.label) Object.assign(kept, { label: view.label, faded: fadedBy(store, view.label) });
    const measure = kept.order && measures.find(({ name }) => name === view.sort);
    const current = [view.layer, view.head] as HeadId;
    const without = !view.label || labelsOf(store, current).includes(view.label) ? "" : headName(current);
    const label = labelOfAll(store.header, view.label);
    const sentence = gridSentence({ measure, faded: kept.faded, label, without });
    const windows = windowsNote(store.header, Boolean(kept.order));
    write(this.hint, windows + sentence, span("how", howToChoose({ isAlone: Boolean(isOnlyGrid) })));
    this.grid.update({
      layers,
      heads,
      overview: store.overview,
      order: kept.order,
      faded: kept.faded,
      ...gridMarks(store.header),
      note: marksNote(store.header, Boolean(kept.order)),
      theme,
      most: this.height * SHARE,
      chosen: view.chosen.map((head) => ({ head, colour: shown.colours.get(head.join()) ?? "" })),
      current: [view.layer, view.head],
      describe: (head) => headSentence(store, head),
    });
    write(this.measures, ...measureList(store, [view.layer, view.head], view.values === "norms"));
    this.measures.setAttribute("aria-label", `Measures of ${headName([view.layer, view.head])}`);
  }

  showControls({ store, view, shown }: ViewProps) {
    const { header } = store;
    const isOnlyGrid = Boolean(header.only_grid);
    const place = isOnlyGrid ? this.overview : this.head;
    if (this.menu.root.parentElement !== place) place.append(this.menu.root);
    const props = {
      view,
      shown,
      cols: store.frame.cols,
      measures: header.measures,
      labels: header.labels,
      labelOf: (label: string) => labelOfAll(header, label),
      isOnlyGrid,
      pair: [...header.query_groups, ...header.key_groups].includes(2),
      norms: Boolean(store.norms),
      rollout: header.rollout,
      rolled: view.chosen.some(([, head]) => head === ROLLOUT),
    };
    this.filters.update(props);
    this.controls.update(props);
  }

  showLegend({ store, view, shown, lost }: ViewProps) {
    const chips = view.chosen.map((head) => ({
      head,
      colour: shown.colours.get(head.join()) ?? "",
      labels: shownLabels(store, head),
      note: store.has(head) ? "" : lost(head) ? "has not come" : "on its way …",
    }));
    this.legend.update(chips, view.mean && chips.length > 1 ? `mean of ${chips.length} heads` : "");
  }

  showPictures(given: ViewProps) {
    const { store, view, shown, labels, theme } = given;
    const { heads, high, least, strongest } = shown;
    const { rows, cols } = store.frame;
    this.section.dataset.waiting = String(!heads.length);
    if (heads.length) this.pictures.update({ heads, rows, cols, labels, view, high, least, strongest, theme });
    else this.wait(given);
    const { drawn, fit } = this.pictures;
    this.showFaint(shown, { rows, cols, view });
    this.drawn.textContent = drawnText({ view, shown, frame: store.frame, drawn, fit });
  }

  /** Says it where the colours are hardly seen, with the way out where darkening them is one. */
  showFaint({ heads, dark, isDarkened }: ShownScene, { rows, cols, view }: CellCount & { view: HeadsView }) {
    const key = heads.map(({ at }) => at);
    if (key.length !== this.looked.length || key.some((at, n) => at !== this.looked[n])) {
      this.looked = key;
      this.areFaint = heads.length > 0 && heads.every(({ at, high }) => high <= HALF && isFaint(at, rows, cols));
    }
    this.darken.textContent = darkenText(dark);
    this.faint.hidden = !this.areFaint || dark === 1 || isDarkened || view.values === "norms";
  }

  /** The thumbnail in place of numbers that are on their way. */
  wait({ store, view, shown, theme, lost }: ViewProps) {
    const [first] = shown.missing;
    this.pictures.wait({
      overview: first[1] === ROLLOUT ? null : store.overview,
      n: first[0] * store.header.heads + first[1],
      note: waitingNote(first, lost(first) ? this.on.again : null),
      theme,
    });
    this.pictures.element.dataset.show = view.show;
  }

  // ---- what is pointed at or pinned: no picture is drawn anew for it

  light(hovered: Pointed, pinned: Pair) {
    if (!this.given || this.given.store.header.only_grid) return;
    if (this.given.shown.heads.length) this.pictures.setLight({ hovered, pinned });
    const pointing = this.means(hovered);
    if (pointing && this.tooltip.at) this.tooltip.show(this.reading(hovered));
    else if (!this.pointed) this.tooltip.hide();
    // Who moves by keys has no pointer to put a tooltip beside.
    const isInside = this.readout.matches(":hover, :focus-within"); // a word in it is pointed at: it stays as it is
    if (pointing && !this.tooltip.at && !isInside) this.read("here", hovered);
    else this.read("pinned", pinned);
  }

  read(state: string, { q, k }: Pair) {
    if (!this.given) return;
    const { heads } = this.given.shown;
    const { said } = this;
    if (said?.state === state && said.q === q && said.k === k && said.heads === heads) return;
    this.said = { state, q, k, heads };
    // The lines speak for themselves.
    this.readout.setAttribute("aria-live", this.given.view.show === "heatmap" ? "polite" : "off");
    const parts = this.means({ q, k })
      ? [span("state", state), ...this.reading({ q, k }, namedToken)]
      : [span("none", forPointer(REST))];
    write(this.readout, ...parts);
  }

  means({ q, k }: Pair) {
    return Boolean(this.given?.shown.heads.length) && (q !== null || k !== null);
  }

  reading({ q, k }: Pair, token?: typeof namedToken) {
    if (!this.given) return [];
    const { store, shown, labels } = this.given;
    const about = { heads: shown.heads, frame: store.frame, labels };
    return q !== null && k !== null ? cellReading(about, { q, k }, token) : tokenReading(about, { q, k }, token);
  }

  pointAtHead(head: HeadId | null) {
    if (!head || !this.given) this.tooltip.hide();
    else if (this.pointed?.join() !== head.join() || !this.tooltip.keepsUp()) {
      this.tooltip.show(headReading(this.given.store, head));
    }
    this.pointed = head;
    this.on.pointAtHead();
  }

  /** As high as its place says, or as the window has room for, so that grid and pictures are seen at once. */
  fit() {
    const top = this.section.getBoundingClientRect().top + scrolled();
    const given = parseFloat(getComputedStyle(this.section).getPropertyValue("--given-height")); // px, of its place
    const least = Math.min(LEAST_HEIGHT, LEAST_SHARE * window.innerHeight);
    const room = window.innerHeight - Math.min(top, ABOVE) - (leastType() ? 16 : BOTTOM);
    this.height = given || Math.max(least, room);
    this.section.style.setProperty("--height", `${this.height}px`);
  }

  fitAgain() {
    const before = this.height;
    this.fit();
    if (this.given && this.height !== before) this.showGrid(this.given);
  }

  destroy() {
    this.sizes.disconnect();
    this.moved.cancel();
    this.menu.destroy();
    this.grid.destroy();
    this.pictures.destroy();
    this.section.remove();
  }
}
