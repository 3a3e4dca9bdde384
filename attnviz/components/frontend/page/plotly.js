// Loads plotly.js from our own server.

import { element } from "../core/dom.js";

/** @type {Promise<Plotly> | null} */
let loading = null;

/**
 * Loads plotly.js once for the page. It is a classic script that sets window.Plotly.
 * @param {string} address
 */
export function loadPlotly(address) {
  loading ??= new Promise((resolve, reject) => {
    const script = element("script", { src: address, async: true });
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => {
      loading = null;
      reject(new Error("plotly.js did not arrive"));
    });
    document.head.append(script);
  });
  return loading;
}
