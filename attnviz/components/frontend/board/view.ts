// The visible range of each axis. Matrices that share an axis zoom and scroll together.

const FEWEST = 4; // cells that the closest zoom still shows

export class AxisViews {
  views = new Map<string, { count: number; from: number; to: number }>();

  /** [from, to] in cells; an axis without a kind is always whole. */
  of(kind: string, count: number): Span {
    const view = kind ? this.views.get(kind) : null;
    return view && view.count === count ? [view.from, view.to] : [0, count];
  }

  span(kind: string, count: number) {
    const [from, to] = this.of(kind, count);
    return to - from;
  }

  get zoomed() {
    return this.views.size > 0;
  }

  reset() {
    this.views.clear();
  }

  /** Shows `factor` times as much of an axis, with the cell `at` fixed. */
  zoom(kind: string, count: number, at: number, factor: number) {
    if (!kind || count <= FEWEST) return;
    const [from, to] = this.of(kind, count);
    const span = Math.min(count, Math.max(FEWEST, (to - from) * factor));
    const share = (at - from) / (to - from);
    this.set(kind, count, at - share * span, span);
  }

  /** Moves an axis by some cells; says whether it moved. */
  scroll(kind: string, count: number, by: number) {
    const [from, to] = this.of(kind, count);
    if (!kind || to - from >= count) return false;
    this.set(kind, count, from + by, to - from);
    return this.of(kind, count)[0] !== from;
  }

  /** Scrolls an axis so that this cell is in view. */
  reveal(kind: string, count: number, cell: number) {
    const [from, to] = this.of(kind, count);
    if (cell < from) this.scroll(kind, count, cell - from);
    else if (cell + 1 > to) this.scroll(kind, count, cell + 1 - to);
  }

  set(kind: string, count: number, from: number, span: number) {
    if (span >= count - 1e-9) {
      this.views.delete(kind);
      return;
    }
    const start = Math.min(Math.max(from, 0), count - span);
    this.views.set(kind, { count, from: start, to: start + span });
  }
}
