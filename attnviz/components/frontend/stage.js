// The stage: the picture of a step, alive. Going to the next step of the same head morphs; the inspector beside it
// follows the pointer, lights rows and columns, and says what is pinned.

import { Board } from "./board.js";
import { NARROW, stacked } from "./board_stack.js";
import { theme } from "./dom.js";
import { mounting } from "./mounting.js";
import { unpack } from "./packing.js";

class Stage {
  constructor(root) {
    this.painted = 0;
    this.row = 0;
    this.revealed = new Set();
    this.board = new Board(root, { className: "attnviz-stage" });
    this.board.onHold = () => this.turnTo(this.board.lights.pinned.query ?? 0);
    this.board.uncover = (at) => this.uncover(at);
    this.board.element.addEventListener("attnviz-drawn", () => this.note());
    this.sizes = new ResizeObserver(() => this.header && this.isNarrow() !== this.narrow && this.show());
    this.sizes.observe(this.board.element);
    this.ends = new AbortController();
    document.addEventListener("keydown", (event) => this.key(event), { signal: this.ends.signal });
  }

  update(data, _, isNew) {
    this.board.setTheme(theme(this.board.element));
    if (isNew) this.take(unpack(data));
  }

  take({ header, arrays }) {
    const before = this.header;
    this.header = header;
    const panels = header.panels.map((panel, i) => ({ ...panel, data: arrays[i].data, shape: arrays[i].shape }));
    for (const panel of panels) {
      // The same numbers stay the same array, so a matrix that is only moved is not painted anew.
      const own = this.panels?.find(({ name, data }) => name === panel.name && equal(data, panel.data));
      if (own) panel.data = own.data;
    }
    this.panels = panels;
    const along = Boolean(before) && before.walk === header.walk && before.order !== header.order;
    if (before?.predict !== header.predict || before?.walk !== header.walk) this.revealed.clear();
    this.coverUp();
    this.fresh = true;
    this.show({ morph: along, backwards: along && header.order < before.order });
  }

  isNarrow() {
    const { clientWidth } = this.board.element;
    return clientWidth > 0 && clientWidth < NARROW;
  }

  show(motion) {
    this.narrow = this.isNarrow();
    const picture = { ...this.header, panels: this.panels };
    const { tall, ...shown } = this.narrow ? stacked(picture) : { ...picture, tall: picture.grid.length > 2 };
    // Matrices stacked higher than two need a picture that is higher than the window.
    this.board.element.classList.toggle("attnviz-tall", tall);
    this.board.show(shown, motion);
  }

  /** Tells the page, and whoever measures it, that a new picture is complete. */
  note() {
    if (!this.fresh || this.board.moment < 1) return;
    this.fresh = false;
    this.painted += 1;
    const { step, layer, head } = this.header;
    const rows = this.panels.at(-1)?.shape[0] ?? 0;
    Object.assign(this.board.element.dataset, { painted: this.painted, step, layer, head, rows });
  }

  // ---- predict, then reveal

  /** The row to guess is the pinned one; another row is covered anew. */
  turnTo(row) {
    if (row === this.row) return;
    this.row = row;
    this.revealed.clear();
    if (this.header) this.coverUp();
  }

  coverUp() {
    const { predict, result } = this.header;
    if (!predict || this.revealed.has("all")) {
      this.board.cover(null);
      return;
    }
    const covered = (i, j) => i === this.row && !this.revealed.has("row") && !this.revealed.has(j);
    this.board.cover((name) => (name === result ? covered : null));
  }

  /** Reveals a covered cell; says whether it was one. */
  uncover({ panel, i, j }) {
    if (!this.board.covers?.(panel)?.(i, j)) return false;
    this.reveal(j);
    const { shape } = this.panels.find(({ name }) => name === panel);
    // Who has guessed the last cell has revealed the row, for which a lesson's question waits.
    if (this.revealed.size === shape[1]) document.querySelector(".st-key-lesson_reveal button")?.click();
    return true;
  }

  reveal(what) {
    this.revealed.add(what);
    this.coverUp();
  }

  key(event) {
    const typing = event.composedPath()[0]?.matches?.("input, textarea, [contenteditable]");
    if (!this.header?.predict || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "r" || event.key === "R") this.reveal("row");
    if (event.key === "a" || event.key === "A") this.reveal("all");
  }

  destroy() {
    this.ends.abort();
    this.sizes.disconnect();
    this.board.destroy();
  }
}

function equal(a, b) {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i] && !(Number.isNaN(a[i]) && Number.isNaN(b[i]))) return false;
  return true;
}

export default mounting((root) => new Stage(root));
