// The picture of a step as it is chosen to be drawn: on the stage, or as a chart to zoom and to download.

import { Chart } from "../chart/chart.js";
import { element } from "../core/dom.js";
import { NOTHING } from "../core/pin.js";
import { Motion } from "../motion/motion.js";
import { Stage } from "./stage.js";

export class Drawing {
  /**
   * @param {HTMLElement} root @param {Home} home
   * @param {{ onCovered: (row: number | null) => void, onFocus: (name: string | null) => void }} does as of Stage
   */
  constructor(root, home, { onCovered, onFocus }) {
    this.root = root;
    this.home = home;
    /** @type {{ header: StageHeader | null, pin: Pair }} what can be played */
    this.played = { header: null, pin: NOTHING };
    this.stage = new Stage(root, { onRevealed: () => home.revealed?.(), onCovered, onFocus });
    this.motion = new Motion(root, this.stage.board);
    /** @type {Chart | null} null until one is chosen */
    this.chart = null;
    /** @type {HTMLElement | null} where the chart stands */
    this.place = null;
    this.isChart = false;
  }

  /**
   * @param {StageHeader} header a picture with the shares of its columns and rows
   * @param {{ drawing: string, theme: Theme, pin: Pair }} looks
   */
  take(header, { drawing, theme, pin }) {
    this.isChart = this.draws(drawing) === "chart";
    if (this.isChart) this.makeChart().show(/** @type {any} */ (header), { theme, pin });
    else this.stage.take(header);
    this.stage.board.element.hidden = this.isChart;
    if (this.place) this.place.hidden = !this.isChart;
    // What is covered must not be computed before one's eyes.
    this.played = { header: this.isChart || header.predict ? null : header, pin };
    this.follow();
  }

  /** What a picture is drawn as where this is chosen. @param {string} drawing */
  draws(drawing) {
    return drawing === "chart" && this.home.plotly ? "chart" : "stage";
  }

  /** The bar that plays the step, which needs all its matrices. */
  follow() {
    const { header, pin } = this.played;
    this.motion.follow(this.stage.focus.name === null ? header : null, pin);
  }

  makeChart() {
    this.place ??= outside(this.root);
    this.chart ??= new Chart(this.place, () => this.home.plotly?.() ?? Promise.reject());
    return this.chart;
  }

  /** @param {Pair} pin */
  setPin(pin) {
    const { chart } = this;
    this.played.pin = pin;
    this.motion.setPin(pin);
    if (this.isChart && chart?.picture) chart.show(chart.picture, { ...chart.looks, pin });
  }

  /** @param {Theme} theme */
  setTheme(theme) {
    this.stage.board.setTheme(theme);
    if (this.isChart) this.chart?.setTheme(theme);
  }

  /** What the pointer is followed on. */
  get shown() {
    const { graph } = this.chart ?? {};
    if (this.isChart) return graph?.matches(".js-plotly-plot") ? graph : null;
    return this.stage.board.element;
  }

  destroy() {
    this.motion.destroy();
    this.stage.destroy();
    this.chart?.destroy();
    this.place?.remove();
  }
}

/**
 * An element in this one, but outside of its shadow root: plotly.js writes its styles into the page.
 * @param {HTMLElement} inside
 */
function outside(inside) {
  const root = inside.getRootNode();
  const place = element("div", { class: "attnviz-chart-place" });
  if (root instanceof ShadowRoot) {
    inside.append(element("slot", { name: "chart" }));
    place.slot = "chart";
    root.host.append(place);
  } else inside.append(place);
  return place;
}
