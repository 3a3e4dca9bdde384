// The chart as a component of its own: its picture comes from the server.

import { Chart } from "../chart/chart.js";
import { theme } from "../core/dom.js";
import { unpack } from "../core/packing.js";
import { loadPlotly } from "./plotly.js";

class ChartComponent {
  /** @param {HTMLElement} root @param {string} server */
  constructor(root, server = "") {
    this.plotly = "";
    this.chart = new Chart(root, () => loadPlotly(server + this.plotly));
  }

  /** @param {Uint8Array} data @param {SetTriggerValue} _ @param {boolean} isNew */
  update(data, _, isNew) {
    const shade = theme(this.chart.graph);
    if (!isNew) {
      this.chart.setTheme(shade);
      return;
    }
    /** @type {Payload<ChartHeader>} */
    const { header, arrays } = unpack(data);
    const panels = header.panels.map((panel, i) => ({ ...panel, .../** @type {any} */ (arrays[i]) }));
    this.plotly = header.plotly;
    this.chart.show({ ...header, panels }, { theme: shade, pin: { q: header.q, k: header.k } });
  }

  destroy() {
    this.chart.destroy();
  }
}

export default ChartComponent;
