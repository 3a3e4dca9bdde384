// The one entry point of all components: a payload's header names the component, whose script is then loaded.

import { element } from "./core/dom.js";
import { mounting } from "./core/mounting.js";
import { unpack } from "./core/packing.js";

const SERVER = import.meta.url.split("/_stcore/")[0];

/**
 * The modules of each version of attnviz, by the folder of its scripts. A script brings all modules that its component
 * needs, and uses those that another one has brought: so there is one of each on a page, with one state.
 * @type {Map<string, Map<string, () => object>>}
 */
const versions = new Map();

/** @param {Uint8Array} data @param {HTMLElement} parentElement */
async function make(data, parentElement) {
  const { component, modules, page_styles: pageStyles } = unpack(data).header;
  const address = `${SERVER}${modules}${component}`;
  parentElement.replaceChildren();
  const root = isolated(parentElement);
  root.append(sheet(`${address}.css`));
  if (pageStyles) parentElement.append(sheet(`${SERVER}${modules}${pageStyles}.css`));
  try {
    const { default: link } = await import(`${address}.js`);
    if (!versions.has(modules)) versions.set(modules, new Map());
    const { default: Made } = link(versions.get(modules));
    return /** @type {Component} */ (new Made(root, SERVER));
  } catch (error) {
    parentElement.replaceChildren(element("p", { role: "alert" }, "This part did not arrive. Reload the page."));
    throw error;
  }
}

/** @param {string} href */
const sheet = (href) => element("link", { rel: "stylesheet", href });

/** A shadow root in an element. @param {HTMLElement} parent */
function isolated(parent) {
  const host = element("div", { class: "attnviz-isolated" });
  parent.append(host);
  return /** @type {HTMLElement & ShadowRoot} */ (host.attachShadow({ mode: "open" }));
}

export default mounting(make);
