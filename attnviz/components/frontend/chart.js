// A Plotly figure that is updated in place: plotly.js compares each new figure with the one before.

import { enlarged } from "./chart_type.js";
import { element, perFrame } from "./dom.js";
import { chartPicture } from "./export_chart.js";
import { mounting } from "./mounting.js";
import { unpack } from "./packing.js";
import { leastType } from "./type.js";

/** @type {Promise<Plotly> | null} */
let loading = null;

/**
 * Loads plotly.js from our own server, once for the page. It is a classic script that sets window.Plotly.
 * @param {string} path
 */
function loadPlotly(path) {
  const base = import.meta.url.split("/_stcore/")[0];
  loading ??= new Promise((resolve, reject) => {
    const script = element("script", { src: base + path, async: true });
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => {
      loading = null;
      reject(new Error("plotly.js did not arrive"));
    });
    document.head.append(script);
  });
  return loading;
}

/**
 * A matrix as plotly.js takes it: an array of rows, each a view of the same memory.
 * @param {Packed} matrix
 */
function rows({ data, shape: [height, width] }) {
  return Array.from({ length: height }, (_, row) => data.subarray(row * width, (row + 1) * width));
}

/** Resolves when the frame that is being made is on the screen. */
function painted() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
  });
}

class Chart {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.drawing = 0;
    /** @type {Uint8Array | null} */
    this.data = null;
    /** @type {Plotly | null} */
    this.plotly = null;
    /** @type {Size | null} */
    this.size = null;
    this.least = 0;
    /** @type {object | null} */
    this.config = null;
    this.graph = element("div", { class: "attnviz-chart", role: "figure" });
    this.graph.attnvizPicture = chartPicture(this);
    root.append(this.graph);
    this.sizes = new ResizeObserver(perFrame(() => this.resize()));
    this.sizes.observe(this.graph);
  }

  /** @param {Uint8Array} data @param {SetTriggerValue} _ @param {boolean} isNew */
  update(data, _, isNew) {
    if (!isNew) return;
    this.data = data;
    this.draw(unpack(data));
  }

  /** @param {Payload<ChartHeader>} payload */
  async draw({ header: { alt, plotly, config, ...figure }, arrays }) {
    this.drawing += 1;
    const drawing = this.drawing;
    this.graph.setAttribute("aria-label", alt);
    try {
      this.plotly = await loadPlotly(plotly);
    } catch {
      this.graph.classList.add("attnviz-chart-failed");
      this.graph.textContent = `The picture can't be drawn: plotly.js did not arrive. Reload the page. ${alt}`;
      return;
    }
    if (drawing !== this.drawing) return; // a newer figure came while the script was on its way
    if (this.graph.classList.contains("attnviz-chart-failed")) {
      this.graph.classList.remove("attnviz-chart-failed");
      this.graph.replaceChildren();
    }
    this.size = this.measure();
    this.least = leastType();
    /** @type {PlotlyFigure} */
    const { data, layout } = enlarged(figure, this.size, this.least);
    const traces = data.map((trace, index) => ({ ...trace, z: rows(arrays[index]) }));
    const bare = traces.map(({ texttemplate, ...trace }) => trace);
    await this.plotly.react(
      this.graph,
      bare,
      { ...layout, ...this.size, autosize: false },
      this.configure(this.plotly, config),
    );
    const numbered = traces.flatMap(({ texttemplate }, index) => (texttemplate ? [index] : []));
    if (!numbered.length) return;
    // The numbers take plotly.js as long as all the rest, so the colours are on the screen before them.
    await painted();
    if (drawing !== this.drawing || !this.graph.isConnected) return;
    await this.plotly.restyle(this.graph, { texttemplate: numbered.map((i) => traces[i].texttemplate) }, numbered);
  }

  /** Plotly's own size detection would lay the figure out a second time. */
  measure() {
    return { width: this.graph.clientWidth, height: this.graph.clientHeight };
  }

  resize() {
    const now = this.measure();
    if (this.data && this.size && now.width && leastType() !== this.least) {
      this.draw(unpack(this.data));
      return;
    }
    if (
      !this.plotly ||
      !this.size ||
      !now.width ||
      (now.width === this.size.width && now.height === this.size.height)
    ) {
      return;
    }
    this.size = now;
    this.plotly.relayout(this.graph, now);
  }

  /**
   * The same object each time: a changed configuration makes plotly.js start from nothing.
   * @param {Plotly} plotly @param {object} config
   */
  configure(plotly, config) {
    if (this.config) return this.config;
    const downloads = ["svg", "png"].map((format) => ({
      name: `download-${format}`,
      title: `Download as ${format.toUpperCase()}`,
      icon: format === "svg" ? plotly.Icons.disk : plotly.Icons.camera,
      click: (/** @type {HTMLElement} */ graph) =>
        plotly.downloadImage(graph, { format, filename: "attnviz", scale: 2, ...this.measure() }),
    }));
    this.config = { ...config, modeBarButtonsToAdd: downloads };
    return this.config;
  }

  destroy() {
    this.sizes.disconnect();
    this.plotly?.purge(this.graph);
    this.graph.remove();
  }
}

export default mounting((root) => new Chart(root));
