// The walk as a component of the page Step by step: its documents come from the server. What is chosen goes into the
// address at once; it is sent to the server before anything else.

import { fetchArrays, fetchFile, fromServer } from "../core/arrays.js";
import { read } from "../core/document.js";
import { unpack } from "../core/packing.js";
import { PendingUpdates } from "../core/pending_updates.js";
import { beforeOthers } from "../core/waiting.js";
import { Walk } from "../walk/walk.js";
import { isBare, valuesIn, withoutValues, withValues } from "./address.js";
import { Opening } from "./opening.js";
import { loadPlotly } from "./plotly.js";

const ACT = "attnviz-act"; // the event of the page's shortcuts
const TEXT = ".st-key-text textarea"; // the server shows it in the same part of the page as the walk
const BURST = 120; // ms: of steps that follow each other quickly, the history has the last

class WalkComponent {
  /** @param {ShadowRoot} root @param {string} server */
  constructor(root, server) {
    this.server = server;
    /** @type {SetTriggerValue} */
    this.setTriggerValue = () => {};
    /** @type {(string | null)[]} the digest of each layer's document; null for one without attention */
    this.documents = [];
    /** @type {LinkKeys} */
    this.link = { keys: [], names: {}, defaults: {}, bare: "", plain: "" };
    this.isOpening = false; // whether the server's view is the one that the app opens on
    this.isLink = false; // whether the view is the one of a link that was just opened
    this.asks = false; // whether a lesson asks for the row that is covered
    /** @type {number | undefined} */
    this.writing = undefined;
    /** @type {string | null} the rest of the addresses that were written here, which the server may not know */
    this.rest = null;
    this.updates = new PendingUpdates(
      (message) => this.setTriggerValue("updates", message),
      /** @type {Partial<WalkValues>} */ ({}),
    );
    this.source = {
      request: fromServer(server),
      offerAgain: () => this.updates.ask(),
    };
    /** @type {Home} */
    this.home = {
      keyboard: null, // the page's shortcuts come as events
      load: async (layer) => read(await fetchFile(this.documents[layer] ?? "", this.source)),
      place: (layer) => fetchPlace(server, this.documents[layer] ?? ""),
      array: async ({ digest }) => (await fetchArrays(digest, this.source)).array,
      changed: (values) => this.changed(values),
      revealed: () => this.answered(),
    };
    this.walk = new Walk(root, this.home);
    /** @type {Opening | null} null on a page whose bare address opens no view of its own */
    this.opening = null;
    this.ends = new AbortController();
    const { signal } = this.ends;
    window.addEventListener(ACT, (event) => this.asked(/** @type {CustomEvent<string>} */ (event)), { signal });
    document.addEventListener("keydown", (event) => this.walk.inspector.escape(event), { signal });
    const { updates } = this;
    beforeOthers(
      () => updates.flush(),
      root,
      signal,
      TEXT,
      () => updates.arrives(),
    );
    window.addEventListener("popstate", () => this.went(), { signal });
  }

  /** A lesson's question ends when the row is revealed: the page is notified at once. */
  answered() {
    if (!this.asks) return;
    this.walk.choose({ predict: false });
    clearTimeout(this.writing);
    this.write();
    this.updates.flush();
  }

  /** What the user has chosen. @param {Partial<WalkValues>} values */
  changed(values) {
    this.opening?.show(false);
    this.updates.set(values, Infinity);
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.write(), BURST);
  }

  /** Makes what a newcomer reads, on a page whose bare address opens a view of its own. */
  greet() {
    const tour = () => this.setTriggerValue("tour", Date.now());
    this.opening ??= new Opening(this.walk, { server: this.server, tour });
  }

  /** Writes what is chosen into the address. */
  write() {
    const { search, pathname, hash } = window.location;
    const query = withValues(search, this.updates.values, this.link);
    this.rest = withoutValues(search, this.link);
    if (query !== search.slice(1)) window.history.pushState({}, "", `${pathname}${query && `?${query}`}${hash}`);
  }

  /** Back or forward: what was chosen since counts no more. The server answers, if it knows the addresses. */
  went() {
    clearTimeout(this.writing);
    this.updates.drop();
    const { search } = window.location;
    if (withoutValues(search, this.link) !== this.rest) return;
    const values = /** @type {Partial<WalkValues>} */ (valuesIn(search, this.link));
    if (!this.documents[values.layer ?? 0]) return;
    this.updates.receive(values);
    this.walk.show(values);
    this.opening?.show(isBare(search, this.link));
  }

  /** @param {Uint8Array} data @param {SetTriggerValue} setTriggerValue @param {boolean} isNew */
  update(data, setTriggerValue, isNew) {
    this.setTriggerValue = setTriggerValue;
    if (isNew) this.take(/** @type {WalkHeader} */ (unpack(data).header));
    this.walk.setTheme();
  }

  /** @param {WalkHeader} header */
  take(header) {
    const { documents, values, acknowledged, layers, only_layer: onlyLayer, drawings, lecture, link, plotly } = header;
    Object.assign(this, { link, asks: header.asks });
    const isOther = header.opening !== this.isOpening || documents.join() !== this.documents.join();
    if (link.bare) this.greet();
    if (isOther) this.opening?.show(header.opening);
    this.isOpening = header.opening;
    this.isLink = header.linked;
    this.rest = null;
    this.updates.receive(values, acknowledged);
    this.updates.answer();
    this.updates.flush(); // or this answer's address, which is older, would stay
    Object.assign(this.home, { layers, onlyLayer, drawings, plotly: () => loadPlotly(this.server + plotly) });
    this.walk.setLecture(lecture);
    if (documents.join() !== this.documents.join()) {
      this.documents = documents;
      this.walk.await(this.updates.values);
    }
    this.show();
  }

  /** Shows what is chosen of the text that is there. */
  show() {
    const { values } = this.updates;
    this.walk.show(values);
    if (this.isLink) this.walk.checkLink(values);
    this.isLink = false;
  }

  /**
   * Handles a shortcut of the page here if possible, without a request to the server.
   * @param {CustomEvent<string>} event
   */
  asked(event) {
    if (this.walk.act(event.detail)) event.preventDefault();
  }

  destroy() {
    this.ends.abort();
    clearTimeout(this.writing);
    this.updates.destroy();
    this.walk.destroy();
  }
}

/** What the making of a document waits for. @param {string} server @param {string} digest */
async function fetchPlace(server, digest) {
  const answer = await fetch(`${server}/attnviz/queue/${digest}`);
  return answer.ok ? answer.text() : "";
}

export default WalkComponent;
