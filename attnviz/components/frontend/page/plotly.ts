// Loads plotly.ts from our own server.

import { element } from "../core/dom.ts";

let loading: Promise<Plotly> | null = null;

/** Loads plotly.ts once for the page. It is a classic script that sets window.Plotly. */
export function loadPlotly(address: string) {
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
