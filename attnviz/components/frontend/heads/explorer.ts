// The explorer: a grid of all layers × heads, and the chosen heads as lines and heatmaps.

import { bytesOf, fetchArrays, keptArrays } from "../core/arrays.ts";
import { theme, typedInto } from "../core/dom.ts";
import { Files } from "../core/files.ts";
import { ACT } from "../core/keys.ts";
import { NOTHING } from "../core/pin.ts";
import { added, checked, FRESH, isSame, only, ROLLOUT, toggled } from "./choice.ts";
import { fileOf, filesAhead } from "./files.ts";
import { labelsOf } from "./reading.ts";
import { firstWith, Scene } from "./scene.ts";
import { Store } from "./store.ts";
import { View } from "./view.ts";
import { Marks } from "../marks/marks.ts";
import { PendingUpdates } from "../core/pending_updates.ts";
import type { Pointed } from "./pictures.ts";

const CALM = 150; // ms without a change before something is fetched ahead
const SETTLE = 250; // ms: a slider passes through many values, the link needs only the last
const AT_ONCE = 4; // requests; a browser opens six connections to a server, and the page needs some of them

export class Explorer {
  painted = 0;
  /** what waits for the arrays that all heads share */
  next: Payload<ExplorerHeader> | null = null;
  hovered: Pointed = NOTHING;
  before = 0; // the head to come back to from rollout
  labels: { query: string[]; key: string[] } = { query: [], key: [] };
  theme: Theme = "light";
  calm: number | undefined;
  store = new Store();
  scene = new Scene(this.store);
  received = 0; // bytes, for the trace of the last payload
  newest = ""; // this trace
  files: Files<Arrays>;
  updates: PendingUpdates<HeadsView>;
  view: View;
  marks: Marks;
  section: HTMLElement;
  ends = new AbortController();

  constructor(root: HTMLElement, host: Host) {
    this.updates = new PendingUpdates(host, FRESH);
    this.files = this.fetching();
    this.view = new View(root, {
      change: (partial) => this.change(partial),
      choose: (head, how) => this.choose(head, how),
      control: (partial) => this.control(partial),
      remove: (head) => this.change(toggled(this.updates.values, head)),
      point: (at) => this.point(at ?? NOTHING),
      pin: (at) => this.pin(at),
      move: (at) => this.change(at),
      again: () => this.again(),
      pointAtHead: () => this.lightWords(),
    });
    // Its own legend and text, and a sentence of the page.
    this.marks = new Marks([this.view.section, document], {
      onName: (target) => this.name(target),
      onPin: ({ row: q, column: k }) => this.pin({ q, k }),
      onHead: (head) => this.choose(head, this.updates.values.chosen.some((one) => isSame(one, head)) ? "add" : "only"),
    });
    this.section = this.view.section;
    Object.assign(this.section, { attnviz: this });
    this.updates.followLeaving(this.ends.signal);
    this.listen();
  }

  /** What fetches heads, and what all heads share. */
  fetching(): Files<Arrays> {
    const { source } = this.updates;
    const does = {
      isHere: (digest: string) => Boolean(keptArrays(digest)),
      onCome: (_: string, arrays: Arrays, isWanted: boolean) => {
        this.received += bytesOf(arrays);
        if (isWanted) this.arrive();
      },
      onFail: () => this.arrive(),
    };
    return new Files((digest) => fetchArrays(digest, source), does, { atOnce: AT_ONCE });
  }

  listen() {
    const { signal } = this.ends;
    const { tooltip } = this.view;
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    window.addEventListener(ACT, (event) => this.asked(event as CustomEvent<string>), { signal });
    window.addEventListener("resize", () => this.view.fit(), { signal });
    for (const name of ["pointerover", "pointermove"] as const) {
      this.section.addEventListener(name, (event) => tooltip.follow(event), { signal, capture: true });
    }
    this.section.addEventListener("keydown", () => tooltip.leave(), { signal, capture: true });
  }

  /** Shows a payload, or the last one in a theme that has changed. */
  update(payload: Payload<ExplorerHeader> | null) {
    this.theme = theme(this.section);
    if (payload) {
      if (payload.header.trace !== this.newest) Object.assign(this, { newest: payload.header.trace, received: 0 });
      this.next = payload;
      this.updates.answer();
    }
    this.arrive();
  }

  /**
   * Shows what has come. A payload waits for what all heads share: until then the picture before it stays, as it is and
   * faded.
   */
  arrive() {
    const { next } = this;
    if (next) {
      this.want([]);
      const { files, trace } = next.header;
      const isHere = files.shared === this.store.shared || Boolean(keptArrays(files.shared));
      if (isHere || this.files.lost(files.shared)) this.take(next);
      if (isHere) this.next = null;
      this.view.setComing(this.store.trace !== trace);
    }
    this.render();
  }

  /** Fetches these files, after those of the payload that waits for them. */
  want(missing: string[]) {
    const header = this.next?.header;
    const first = header ? [header.files.shared, ...header.view.chosen.map((head) => fileOf(header, head).digest)] : [];
    this.files.want([...first, ...missing]);
    this.section.dataset.waits = String(this.files.waits);
  }

  take({ header, arrays }: Payload<ExplorerHeader>) {
    if (header.trace !== this.store.trace) {
      this.scene.forget();
      this.hovered = NOTHING;
      this.view.tooltip.hide();
    }
    this.store.take(header, arrays, keptArrays(header.files.shared));
    this.updates.receive(header.view, header.acknowledged);
    Object.assign(this.updates.values, checked(this.updates.values, header));
    if ((this.updates.values.q ?? 0) >= header.rows) this.updates.values.q = null;
    if ((this.updates.values.k ?? 0) >= header.cols) this.updates.values.k = null;
    this.labels = { query: header.query_labels, key: header.key_labels };
  }

  // ---- what the viewer does

  change(partial: Partial<HeadsView>) {
    if (this.updates.set(partial, SETTLE)) this.render();
  }

  choose(head: HeadId, how: HowToChoose) {
    const change = {
      only: () => only(head),
      add: () => added(this.updates.values, head),
      toggle: () => toggled(this.updates.values, head),
    };
    this.change(change[this.store.header.only_grid ? "only" : how]());
  }

  /**
   * Rollout is chosen like a head; switching it off restores the previous head. A label chooses its first head, unless
   * the current one carries it.
   */
  control(partial: Partial<HeadsView> & { rollout?: boolean }) {
    const { layer, head, sort } = this.updates.values;
    if ("rollout" in partial) {
      this.change(only([layer, partial.rollout ? ROLLOUT : this.before]));
      return;
    }
    const { label = "" } = partial;
    const carries = !label || labelsOf(this.store, [layer, head]).includes(label);
    const first = carries ? null : firstWith(this.store, label, sort);
    this.change(first ? { ...partial, ...only(first) } : partial);
  }

  /** Pins a cell or a token; unpins it if it is pinned already. */
  pin({ q, k }: Pair) {
    const view = this.updates.values;
    const again = (q === null || q === view.q) && (k === null || k === view.k);
    const change: Partial<Pair> = {};
    if (q !== null) change.q = again ? null : q;
    if (k !== null) change.k = again ? null : k;
    this.change(change);
  }

  key(event: KeyboardEvent) {
    const typing = typedInto(event);
    const elsewhere = typing && !this.section.contains(typing);
    if (event.key !== "Escape" || event.defaultPrevented || elsewhere) return;
    this.view.tooltip.hide();
    this.change(NOTHING);
  }

  /** Darkens the colours at the page's shortcut, or no longer does, if the controls offer it. */
  asked(event: CustomEvent<string>) {
    if (event.detail !== "stretch") return;
    event.preventDefault();
    this.view.controls.turnDarkening();
  }

  point({ q, k, head }: Pointed) {
    const { hovered } = this;
    const same = hovered.q === q && hovered.k === k && hovered.head === head;
    if (same && ((q === null && k === null) || this.view.tooltip.keepsUp())) return;
    this.hovered = { q, k, head };
    this.light();
  }

  again() {
    this.files.again();
    this.render();
  }

  // ---- drawing

  render() {
    const { store } = this;
    if (!store.trace || this.view.isComing) return;
    const view = this.updates.values;
    if (view.head !== ROLLOUT) this.before = view.head;
    const shown = this.scene.of(view, this.theme);
    this.want(shown.missing.map((head) => fileOf(store.header, head).digest));
    this.view.show({
      store,
      view,
      shown,
      labels: this.labels,
      theme: this.theme,
      lost: (head) => this.files.lost(fileOf(store.header, head).digest),
    });
    this.light();
    this.note(view, shown);
    clearTimeout(this.calm);
    this.calm = setTimeout(() => this.fetchAhead([view.layer, view.head]), CALM);
  }

  fetchAhead(head: HeadId) {
    const { header } = this.store;
    this.files.fetchAhead(filesAhead(header, head, this.received, (digest) => Boolean(keptArrays(digest))));
  }

  light() {
    const { q, k } = this.updates.values;
    this.view.light(this.hovered, { q, k });
    this.lightWords();
  }

  /** Lights what a word names: a head in the grid, or tokens in the pictures. */
  name(target: Target | null) {
    const { row: q = null, column: k = null, layer = null, head = null } = target ?? {};
    this.view.tooltip.leave(); // nothing belongs beside the pointer, which is elsewhere
    this.view.grid.pointAt(layer === null || head === null ? null : [layer, head]);
    this.point({ q, k });
  }

  /** Lights the words that name what is pointed at, or pinned. */
  lightWords() {
    const { q, k } = this.hovered;
    const { q: query, k: key } = this.updates.values;
    const hovered = q === null && k === null ? null : { panel: "", rows: "query", cols: "key", i: q, j: k };
    const { layer, head } = this.updates.values;
    this.marks.show({ panels: [], hovered, pinned: { query, key }, head: this.view.pointed, chosen: [layer, head] });
  }

  /** Marks on the element what is painted now, for the page and for tests. */
  note(view: HeadsView, shown: ShownScene) {
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
    this.marks.destroy();
    this.updates.destroy();
    this.files.destroy();
    this.view.destroy();
  }
}

export default Explorer;
