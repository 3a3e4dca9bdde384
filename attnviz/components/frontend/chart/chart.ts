// The chart: a picture of matrices as a Plotly figure, to zoom and to download. plotly.js compares each new figure with
// the one before.

import { download, element, perFrame } from "../core/dom.ts";
import { NOTHING, samePin } from "../core/pin.ts";
import { leastType } from "../core/type.ts";
import { chartPicture } from "../export/chart.ts";
import type { ChartLooks, ChartPicture } from "./figure.ts";

// The mode bar. Downloads are added as SVG and PNG, which need no server; nothing is uploaded to plotly's.
const CONFIG = {
  displaylogo: false,
  modeBarButtonsToRemove: ["sendChartToCloud", "toImage", "select2d", "lasso2d", "autoScale2d"],
};

export class Chart {
  load;
  drawing = 0;
  picture: ChartPicture | null = null;
  looks: ChartLooks = { theme: "light", pin: NOTHING };
  /** what is drawn; null while that is not yet the picture */
  figure: PlotlyFigure | null = null;
  plotly: Plotly | null = null;
  /** what makes figures: few look at charts, so it is fetched with plotly.js */
  figures: typeof import("./figure.ts") | null = null;
  size: Size = { width: 0, height: 0 };
  least = 0;
  config: object | null = null;
  graph = element("div", { class: "attnviz-chart", role: "figure" });
  sizes: ResizeObserver = new ResizeObserver(perFrame(() => this.resize()));

  /** `load()` gives plotly.js; it is called for each picture until it has come. */
  constructor(root: Element | ShadowRoot, load: () => Promise<Plotly>) {
    this.load = load;
    this.graph.attnvizPicture = chartPicture(this);
    root.append(this.graph);
    this.sizes.observe(this.graph);
  }

  /** Shows a picture with a pin; where only the pin is another, nothing but its lines is drawn. */
  show(picture: ChartPicture, looks: ChartLooks) {
    const isNew = picture !== this.picture || looks.theme !== this.looks.theme || !this.figure;
    const isMoved = !samePin(looks.pin, this.looks.pin);
    this.picture = picture;
    this.looks = looks;
    if (isNew) this.draw();
    else if (isMoved) this.plotly?.relayout(this.graph, { shapes: this.figures?.pinnedShapes(picture, looks) });
  }

  async draw() {
    this.drawing += 1;
    const drawing = this.drawing;
    this.figure = null;
    const alt = this.picture?.alt ?? "";
    this.graph.setAttribute("aria-label", alt);
    try {
      [this.plotly, this.figures] = await Promise.all([this.load(), import("./figure.ts")]);
    } catch {
      this.graph.classList.add("attnviz-chart-failed");
      this.graph.textContent = `The picture can't be drawn: plotly.js did not arrive. Reload the page. ${alt}`;
      return;
    }
    if (drawing !== this.drawing || !this.picture) return; // a newer picture came while the script was on its way
    if (this.graph.classList.contains("attnviz-chart-failed")) {
      this.graph.classList.remove("attnviz-chart-failed");
      this.graph.replaceChildren();
    }
    this.size = this.measure();
    this.least = leastType();
    const { enlarged, figureOf } = this.figures;
    this.figure = enlarged(figureOf(this.picture, this.looks), this.size, this.least);
    const { data, layout } = this.figure;
    const bare = data.map(({ texttemplate, ...trace }) => trace);
    const { plotly } = this;
    await plotly.react(this.graph, bare, { ...layout, ...this.size, autosize: false }, this.configure(plotly));
    const numbered = data.flatMap(({ texttemplate }, index) => (texttemplate ? [index] : []));
    if (!numbered.length) return;
    // The numbers take plotly.js as long as all the rest, so the colours are on the screen before them.
    await painted();
    if (drawing !== this.drawing || !this.graph.isConnected) return;
    this.sizeNumbers();
    await plotly.restyle(this.graph, { texttemplate: numbered.map((i) => data[i].texttemplate) }, numbered);
  }

  /** Scales the numbers with their cells: plotly.js would write them in one size, and leave out what does not fit. */
  sizeNumbers() {
    if (!this.figure || !this.figures) return;
    for (const [subplot, size] of this.figures.numberSizes(this.figure, this.size)) {
      const drawn: SVGElement | null = this.graph.querySelector(`.subplot.${subplot}`);
      drawn?.style.setProperty("--number-size", `${size}px`);
    }
  }

  /** Plotly's own download frees the file at once, before a busy browser has read it. */
  async download(plotly: Plotly, format: string) {
    const image = await plotly.toImage(this.graph, { format, scale: 2, imageDataOnly: true, ...this.measure() });
    const bytes = format === "png" ? Uint8Array.from(atob(image), (one) => one.charCodeAt(0)) : image;
    download(new Blob([bytes], { type: format === "png" ? "image/png" : "image/svg+xml" }), `attnviz.${format}`);
  }

  /** Plotly's own size detection would lay the figure out a second time. */
  measure() {
    return { width: this.graph.clientWidth, height: this.graph.clientHeight };
  }

  resize() {
    const now = this.measure();
    if (!this.figure || !now.width) return;
    if (leastType() !== this.least) {
      this.draw();
      return;
    }
    if (now.width === this.size.width && now.height === this.size.height) return;
    this.size = now;
    this.sizeNumbers();
    this.plotly?.relayout(this.graph, now);
  }

  /** The same object each time: a changed configuration makes plotly.js start from nothing. */
  configure(plotly: Plotly) {
    if (this.config) return this.config;
    const downloads = ["svg", "png"].map((format) => ({
      name: `download-${format}`,
      title: `Download as ${format.toUpperCase()}`,
      icon: format === "svg" ? plotly.Icons.disk : plotly.Icons.camera,
      click: () => this.download(plotly, format),
    }));
    this.config = { ...CONFIG, modeBarButtonsToAdd: downloads };
    return this.config;
  }

  destroy() {
    this.drawing += 1;
    this.sizes.disconnect();
    this.plotly?.purge(this.graph);
    this.graph.remove();
  }
}

/** Resolves when the frame that is being made is on the screen. */
function painted() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
  });
}
