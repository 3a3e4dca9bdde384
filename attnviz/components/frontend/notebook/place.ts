// Where a widget stands on a notebook's page: in a shadow root, so that neither's styles reach the other, with the
// notebook's theme. Keys that are pressed there are the widget's, not commands of the notebook.

import { element } from "../core/dom.ts";

const JUPYTER_LIGHT = "data-jp-theme-light";

export class Place {
  onTheme = () => {};
  root = element("div", { class: "attnviz-standalone attnviz-notebook" });
  host = element("div");
  ends = new AbortController();
  themes: MutationObserver = new MutationObserver(() => this.setTheme());

  constructor(el: HTMLElement, styles: string) {
    this.host.attachShadow({ mode: "open" }).append(element("style", {}, styles), this.root);
    el.append(this.host);
    const { signal } = this.ends;
    window.addEventListener("keydown", (event) => this.keepFromNotebook(event), { signal, capture: true });
    this.themes.observe(document.body, { attributeFilter: [JUPYTER_LIGHT] });
    this.setTheme();
  }

  /** Light or dark as JupyterLab is; elsewhere as the system is. */
  setTheme() {
    const light = document.body.getAttribute(JUPYTER_LIGHT);
    if (light === null) delete this.root.dataset.theme;
    else this.root.dataset.theme = light === "true" ? "light" : "dark";
    this.onTheme();
  }

  /**
   * Plain keys in the widget are not commands of JupyterLab, where "a" adds a cell; with Ctrl, they still are.
   */
  keepFromNotebook({ ctrlKey, altKey, metaKey }: KeyboardEvent) {
    this.host.toggleAttribute("data-lm-suppress-shortcuts", !ctrlKey && !altKey && !metaKey);
  }

  destroy() {
    this.ends.abort();
    this.themes.disconnect();
    this.host.remove();
  }
}
