// Questions to the Heads page: functions that say whether something is drawn, and places on the screen. The explorer
// lives in a shadow root and notes there what it has painted; a few places are read from its own layout.

window.stopwatch.explorer = {
  root: null,

  /** Its root, inside the shadow that Streamlit gives it; null while there is none. */
  section() {
    if (this.root?.isConnected) return this.root;
    for (const { shadowRoot } of document.querySelectorAll(".st-key-explorer *")) {
      this.root = shadowRoot?.querySelector("section.explorer") ?? null;
      if (this.root) return this.root;
    }
    return null;
  },

  lines() {
    return this.section()?.querySelector(".attnviz-lines") ?? null;
  },

  /** Whether all that was asked for is here and drawn, to the faintest line. */
  complete() {
    return this.section()?.dataset.exact === "true" && this.lines()?.dataset.finished === "true";
  },

  resting() {
    const { hovered } = this.section()?.attnviz ?? {};
    return this.complete() && hovered.q === null && hovered.k === null && this.lines().dataset.lit === "0";
  },

  count() {
    return Number(this.section()?.dataset.painted ?? 0);
  },

  /** What names the text and the model that are shown. */
  trace() {
    return this.section()?.attnviz.store.trace ?? null;
  },

  /** Another text than the present one, of this many tokens. */
  painted(tokens, whole) {
    const before = this.trace();
    const rows = () => Number(this.section().dataset.rows);
    return () => this.count() > 0 && this.trace() !== before && rows() === tokens && (!whole || this.complete());
  },

  opened(layer, head, whole) {
    const before = this.count();
    const isIt = ({ dataset }) =>
      Number(dataset.layer) === layer && Number(dataset.head) === head && dataset.exact === "true";
    return () => this.count() > before && isIt(this.section()) && (!whole || this.complete());
  },

  /** A query token that is pointed at, with all its lines; in a long text it may have none above the threshold. */
  lit(token) {
    const { attnviz } = this.section();
    return () => attnviz.hovered.q === token && !attnviz.view.pictures.lines.changed.front && this.complete();
  },

  thumbnail(layer, head) {
    const { grid } = this.section().attnviz.view;
    const { x, y } = grid.element.getBoundingClientRect();
    const { left, top, caption, side, pitch } = grid.layout;
    return [x + left + head * pitch.x + side / 2, y + top + caption + layer * pitch.y + side / 2];
  },

  focus() {
    this.section().attnviz.view.grid.element.focus();
  },

  /** A query token's place beside the lines. */
  token(index) {
    const { element, layout } = this.section().attnviz.view.pictures.lines;
    const { x, y } = element.getBoundingClientRect();
    const [across, along] = layout.point(0, layout.label + 8, layout.at(0, index));
    return [x + across, y + along];
  },
};
