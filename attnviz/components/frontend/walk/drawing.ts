// The picture of a step as it is chosen to be drawn: on the stage, or as a chart to zoom and to download.

import { element } from "../core/dom.ts";
import { NOTHING } from "../core/pin.ts";
import { Motion } from "../motion/motion.ts";
import { Stage } from "./stage.ts";
import type { Chart } from "../chart/chart.ts";
import type { ChartLooks } from "../chart/figure.ts";
import type { Guess } from "../core/guess.ts";

export class Drawing {
  root: HTMLElement;
  home: Home;
  /** what can be played */
  played: { header: StageHeader | null; pin: Pair } = { header: null, pin: NOTHING };
  stage: Stage;
  motion: Motion;
  /** null until one is chosen and its script is here */
  chart: Chart | null = null;
  /** what the chart is to show */
  charted: Parameters<Chart["show"]> | null = null;
  /** where the chart stands */
  place: HTMLElement | null = null;
  isChart = false;

  /** @param does as of Stage */
  constructor(
    root: HTMLElement,
    home: Home,
    { onGuess, onFocus }: { onGuess: (guess: Guess | null) => void; onFocus: (name: string | null) => void },
  ) {
    this.root = root;
    this.home = home;
    this.stage = new Stage(root, { onRevealed: () => home.revealed?.(), onGuess, onFocus });
    this.motion = new Motion(root, this.stage.board);
  }

  /** @param header a picture with the shares of its columns and rows */
  take(header: StageHeader, { drawing, theme, pin }: { drawing: string; theme: Theme; pin: Pair }) {
    this.isChart = this.draws(drawing) === "chart" && !header.predict; // a chart covers nothing
    if (this.isChart) this.showChart(header as any, { theme, pin });
    else this.stage.take(header);
    this.stage.board.element.hidden = this.isChart;
    if (this.place) this.place.hidden = !this.isChart;
    // What is covered must not be computed before one's eyes.
    this.played = { header: this.isChart || header.predict ? null : header, pin };
    this.follow();
  }

  /** What a picture is drawn as where this is chosen. */
  draws(drawing: string) {
    return drawing === "chart" && this.home.plotly ? "chart" : "stage";
  }

  /** The bar that plays the step, which needs all its matrices. */
  follow() {
    const { header, pin } = this.played;
    this.motion.follow(this.stage.focus.name === null ? header : null, pin);
  }

  /** Few look at charts: their script is fetched, with plotly.js, when one is chosen. */
  showChart(...charted: Parameters<Chart["show"]>) {
    this.charted = charted;
    this.chart?.show(...charted);
    if (this.place) return;
    const place = (this.place = outside(this.root));
    const plotly = () => this.home.plotly?.() ?? Promise.reject();
    plotly().catch(() => {}); // the chart says it
    import("../chart/chart.ts").then(
      (charts) => {
        if (!place.isConnected || !this.charted) return;
        this.chart = new charts.Chart(place, plotly);
        if (this.isChart) this.chart.show(...this.charted);
      },
      () => {
        place.textContent = "The chart can't be drawn: its script did not arrive. Reload the page.";
      },
    );
  }

  setPin(pin: Pair) {
    this.played.pin = pin;
    this.motion.setPin(pin);
    this.chartWith({ pin });
  }

  setTheme(theme: Theme) {
    this.stage.board.setTheme(theme);
    this.chartWith({ theme });
  }

  chartWith(looks: Partial<ChartLooks>) {
    if (!this.isChart || !this.charted) return;
    const [picture, before] = this.charted;
    this.showChart(picture, { ...before, ...looks });
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

/** An element in this one, but outside of its shadow root: plotly.js writes its styles into the page. */
function outside(inside: HTMLElement) {
  const root = inside.getRootNode();
  const place = element("div", { class: "attnviz-chart-place" });
  if (root instanceof ShadowRoot) {
    inside.append(element("slot", { name: "chart" }));
    place.slot = "chart";
    root.host.append(place);
  } else inside.append(place);
  return place;
}
