// The one entry point of all components: a payload's header names the component, whose script is then loaded.

import { element } from "./core/dom.js";
import { mounting } from "./core/mounting.js";
import { unpack } from "./core/packing.js";

const SERVER = import.meta.url.split("/_stcore/")[0];

/** @param {Uint8Array} data @param {HTMLElement} parentElement */
async function make(data, parentElement) {
  const { component, modules, needed, page_styles: pageStyles } = unpack(data).header;
  const address = `${SERVER}${modules}${component}`;
  parentElement.replaceChildren();
  const root = isolated(parentElement);
  root.append(sheet(`${address}.css`));
  if (pageStyles) parentElement.append(sheet(`${SERVER}${modules}${pageStyles}.css`));
  try {
    for (const name of needed) preload(`${SERVER}${modules}${name}`);
    const { default: Made } = await import(`${address}.js`);
    return /** @type {Component} */ (new Made(root, SERVER));
  } catch (error) {
    parentElement.replaceChildren(element("p", { role: "alert" }, "This part did not arrive. Reload the page."));
    throw error;
  }
}

/** @param {string} href */
const sheet = (href) => element("link", { rel: "stylesheet", href });

/** Fetches a script that another one is about to import. @param {string} href */
function preload(href) {
  if (document.head.querySelector(`link[href="${href}"]`) !== null) return;
  document.head.append(element("link", { rel: "modulepreload", href }));
}

/** A shadow root in an element. @param {HTMLElement} parent */
function isolated(parent) {
  const host = element("div", { class: "attnviz-isolated" });
  parent.append(host);
  return /** @type {HTMLElement & ShadowRoot} */ (host.attachShadow({ mode: "open" }));
}

export default mounting(make);
