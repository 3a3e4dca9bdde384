// The explorer's entry point: a grid of all layers × heads, and the chosen heads as lines and heatmaps. Streamlit calls
// the default function with new data and at each change of theme.

import { theme, typedInto } from "./dom.js";
import { added, checked, FRESH, only, ROLLOUT, toggled } from "./explorer_choice.js";
import { Fetcher } from "./explorer_fetch.js";
import { Scene } from "./explorer_scene.js";
import { Store } from "./explorer_store.js";
import { View } from "./explorer_view.js";
import { mounting } from "./mounting.js";
import { unpack } from "./packing.js";
import { PendingUpdates } from "./pending_updates.js";

const CALM = 150; // ms without a change before something is fetched ahead
const SETTLE = 250; // ms: a slider passes through many values, the link needs only the last
/** @type {Pair} */
const NOWHERE = { q: null, k: null };

/** @typedef {import("./explorer_pictures.js").Pointed} Pointed */

class Explorer {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.painted = 0;
    /** @type {SetTriggerValue} */
    this.setTriggerValue = () => {};
    /** @type {Pointed} */
    this.hovered = NOWHERE;
    this.before = 0; // the head to come back to from rollout
    /** @type {{ query: string[], key: string[] }} */
    this.labels = { query: [], key: [] };
    /** @type {Theme} */
    this.theme = "light";
    /** @type {number | undefined} */
    this.calm = undefined;
    this.store = new Store();
    this.scene = new Scene(this.store);
    this.fetcher = new Fetcher(this.store, {
      ask: (heads) => this.setTriggerValue("want", heads),
      onLost: () => this.render(),
    });
    this.updates = new PendingUpdates((message) => this.setTriggerValue("updates", message), FRESH);
    this.view = new View(root, {
      change: (partial) => this.change(partial),
      choose: (head, how) => this.choose(head, how),
      control: (partial) => this.control(partial),
      remove: (head) => this.change(toggled(this.updates.values, head)),
      point: (at) => this.point(at ?? NOWHERE),
      pin: (at) => this.pin(at),
      move: (at) => this.change(at),
      again: () => this.again(),
    });
    this.section = this.view.section;
    Object.assign(this.section, { attnviz: this });
    this.ends = new AbortController();
    this.listen();
  }

  listen() {
    const { signal } = this.ends;
    const { tooltip } = this.view;
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    window.addEventListener("resize", () => this.view.fit(), { signal });
    for (const name of /** @type {const} */ (["pointerover", "pointermove"])) {
      this.section.addEventListener(name, (event) => tooltip.follow(event), { signal, capture: true });
    }
    this.section.addEventListener("keydown", () => tooltip.leave(), { signal, capture: true });
  }

  /** @param {Uint8Array} data @param {SetTriggerValue} setTriggerValue @param {boolean} isNew */
  update(data, setTriggerValue, isNew) {
    this.setTriggerValue = setTriggerValue;
    if (isNew) this.take(unpack(data));
    this.theme = theme(this.section);
    this.render();
  }

  /** @param {Payload<ExplorerHeader>} payload */
  take({ header, arrays }) {
    if (header.trace !== this.store.trace) {
      this.fetcher.restart();
      this.scene.forget();
      this.hovered = NOWHERE;
      this.view.tooltip.hide();
    }
    this.store.take(header, arrays);
    this.fetcher.answered();
    if (this.store.incomplete) this.fetcher.start();
    this.updates.receive(header.view, header.acknowledged);
    Object.assign(this.updates.values, checked(this.updates.values, header));
    if ((this.updates.values.q ?? 0) >= header.rows) this.updates.values.q = null;
    if ((this.updates.values.k ?? 0) >= header.cols) this.updates.values.k = null;
    this.labels = { query: header.query_labels, key: header.key_labels };
  }

  // ---- what the viewer does

  /** @param {Partial<HeadsView>} partial */
  change(partial) {
    if (this.updates.set(partial, SETTLE)) this.render();
  }

  /** @param {HeadId} head @param {HowToChoose} how */
  choose(head, how) {
    const change = {
      only: () => only(head),
      add: () => added(this.updates.values, head),
      toggle: () => toggled(this.updates.values, head),
    };
    this.change(change[how]());
  }

  /**
   * Rollout is chosen like a head; switching it off restores the previous head.
   * @param {Partial<HeadsView> & { rollout?: boolean }} partial
   */
  control(partial) {
    const { layer } = this.updates.values;
    this.change("rollout" in partial ? only([layer, partial.rollout ? ROLLOUT : this.before]) : partial);
  }

  /**
   * Pins a cell or a token; unpins it if it is pinned already.
   * @param {Pair} at
   */
  pin({ q, k }) {
    const view = this.updates.values;
    const again = (q === null || q === view.q) && (k === null || k === view.k);
    /** @type {Partial<Pair>} */
    const change = {};
    if (q !== null) change.q = again ? null : q;
    if (k !== null) change.k = again ? null : k;
    this.change(change);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const typing = typedInto(event);
    const elsewhere = typing && !this.section.contains(typing);
    if (event.key !== "Escape" || event.defaultPrevented || elsewhere) return;
    this.view.tooltip.hide();
    this.change(NOWHERE);
  }

  /** @param {Pointed} at */
  point({ q, k, head }) {
    const { hovered } = this;
    const same = hovered.q === q && hovered.k === k && hovered.head === head;
    if (same && ((q === null && k === null) || this.view.tooltip.keepsUp())) return;
    this.hovered = { q, k, head };
    this.light();
  }

  again() {
    this.fetcher.retry();
    this.render();
  }

  // ---- drawing

  render() {
    const { store } = this;
    if (!store.trace) return;
    const view = this.updates.values;
    if (view.head !== ROLLOUT) this.before = view.head;
    const shown = this.scene.of(view, this.theme);
    this.fetcher.need(shown.missing);
    this.view.show({
      store,
      view,
      shown,
      labels: this.labels,
      theme: this.theme,
      lost: (head) => this.fetcher.lost(head),
    });
    this.light();
    this.note(view, shown);
    clearTimeout(this.calm);
    this.calm = setTimeout(() => this.fetcher.fetchAhead([view.layer, view.head]), CALM);
  }

  light() {
    const { q, k } = this.updates.values;
    this.view.light(this.hovered, { q, k });
  }

  /**
   * Marks on the element what is painted now, for the page and for tests.
   * @param {HeadsView} view @param {ShownScene} shown
   */
  note(view, shown) {
    this.painted += 1;
    const { rows, cols } = this.store.frame;
    Object.assign(this.section.dataset, {
      painted: String(this.painted),
      layer: String(view.layer),
      head: String(view.head),
      chosen: view.chosen.map((head) => head.join(".")).join(" "),
      rows: String(rows),
      cols: String(cols),
      exact: String(shown.missing.length === 0),
    });
  }

  destroy() {
    clearTimeout(this.calm);
    this.ends.abort();
    this.updates.destroy();
    this.fetcher.destroy();
    this.view.destroy();
  }
}

export default mounting((root) => new Explorer(root));
