// The one entry point of all components: a payload's header names the component, whose script is then loaded.

import { element } from "./core/dom.ts";
import { mounting } from "./page/mounting.ts";
import type { Make } from "./page/mounting.ts";
import { reloadWhenLost } from "./page/recovery.ts";

const SERVER = import.meta.url.split("/_stcore/")[0];

/** What a header says of the component's own files. */
interface Loaded {
  component: string;
  /** The folder of its scripts and style sheets */
  modules: string;
  needed: string[];
  page_styles: string;
}

const make: Make = async ({ header }, parentElement, host) => {
  const { component, modules, needed, page_styles: pageStyles } = header as Loaded;
  const address = `${SERVER}${modules}${component}`;
  parentElement.replaceChildren();
  const root = isolated(parentElement);
  root.append(sheet(`${address}.css`));
  if (pageStyles) parentElement.append(sheet(`${SERVER}${modules}${pageStyles}.css`));
  try {
    for (const name of needed) preload(`${SERVER}${modules}${name}`);
    const { default: Made } = await import(`${address}.js`);
    return new Made(root, host) as Component;
  } catch (error) {
    parentElement.replaceChildren(element("p", { role: "alert" }, "This part did not arrive. Reload the page."));
    throw error;
  }
};

const sheet = (href: string) => element("link", { rel: "stylesheet", href });

/** Fetches a script that another one is about to import. */
function preload(href: string) {
  if (document.head.querySelector(`link[href="${href}"]`) !== null) return;
  document.head.append(element("link", { rel: "modulepreload", href }));
}

/** A shadow root in an element. */
function isolated(parent: HTMLElement) {
  const host = element("div", { class: "attnviz-isolated" });
  parent.append(host);
  return host.attachShadow({ mode: "open" }) as HTMLElement & ShadowRoot;
}

reloadWhenLost();

export default mounting(make, SERVER);
