// The walk as a component of the page Step by step: its documents come from the server. What is chosen goes into the
// address at once; it is sent to the server before anything else.

import { followHistory } from "../core/back_forward.ts";
import { ACT } from "../core/keys.ts";
import { PendingUpdates } from "../core/pending_updates.ts";
import { beforeOthers } from "../core/waiting.ts";
import { Walk } from "../walk/walk.ts";
import { hasNoKey, valuesIn, withoutValues, withValues } from "./address.ts";
import type { Values } from "./address.ts";
import { Opening } from "./opening.ts";
import { loadPlotly } from "./plotly.ts";
import { TEXT_FIELD } from "../core/streamlit.ts";

const BURST = 120; // ms: of steps that follow each other quickly, the history has the last

class WalkComponent {
  host: Host;
  /** the digest of each layer's document; null for one without attention */
  documents: (string | null)[] = [];
  link: LinkKeys = { keys: [], names: {}, defaults: {}, bare: "", plain: "" };
  isOpening: boolean | null = false; // whether the server's view is the one that the app opens on
  isLink = false; // whether the view is the one of a link that was just opened
  asks = false; // whether a lesson asks for the row that is covered
  /** the position of the word that is hidden in the documents */
  hiddenAt: number | null = null;
  writing: number | undefined;
  /** the rest of the addresses that were written here, which the server may not know */
  rest: string | null = null;
  updates: PendingUpdates<Partial<WalkValues> & WalkRequests>;
  home: Home;
  walk: Walk;
  /** null on a page without a text for newcomers */
  opening: Opening | null = null;
  ends = new AbortController();

  constructor(root: ShadowRoot, host: Host) {
    this.host = host;
    this.updates = new PendingUpdates(host, {} as Partial<WalkValues> & WalkRequests);
    this.home = {
      keyboard: null, // the page's shortcuts come as events
      source: this.updates.source,
      place: (layer) => fetchPlace(host.server, this.documents[layer] ?? ""),
      changed: (values) => this.changed(values),
      revealed: () => this.answered(),
      plays: () => this.opening?.show(false),
      written: (text, count) => this.append(text, count),
    };
    this.walk = new Walk(root, this.home);
    const { signal } = this.ends;
    this.updates.followLeaving(signal);
    window.addEventListener(ACT, (event) => this.asked(event as CustomEvent<string>), { signal });
    document.addEventListener("keydown", (event) => this.walk.view?.inspector.escape(event), { signal });
    const { updates } = this;
    beforeOthers(
      () => updates.flush(),
      root,
      signal,
      TEXT_FIELD, // the server shows it in the same part of the page as the walk
      () => updates.arrives(),
    );
    followHistory(() => this.went(), signal);
  }

  /** A lesson's question ends when the row is revealed: the page is notified at once. */
  answered() {
    if (!this.asks) return;
    this.walk.choose({ predict: false });
    this.send();
  }

  /** What the user has chosen. */
  changed(values: Partial<WalkValues>) {
    this.opening?.show(false);
    this.updates.set(values, Infinity);
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.write(), BURST);
    if ("blank_at" in values) this.send(); // the server has the numbers of another text
  }

  /** Has the page add characters to the text, whose last one is then chosen. @param count how many */
  append(text: string, count: number) {
    const rows = this.walk.store.document?.header.query.labels.length ?? 0;
    this.updates.set({ q: rows + count - 1, k: null }, Infinity);
    this.updates.sendAgain({ written: text });
  }

  /** Writes what is chosen into the address, and sends it. */
  send() {
    clearTimeout(this.writing);
    this.write();
    this.updates.flush();
  }

  /** Makes what a newcomer reads above the walk. */
  greet() {
    const open = (opens: string) => this.updates.sendAgain({ opens });
    this.opening ??= new Opening(this.walk, { server: this.host.server, open });
  }

  /** Writes what is chosen into the address. */
  write() {
    const { search, pathname, hash } = window.location;
    const query = withValues(search, this.updates.values as Values, this.link);
    this.rest = withoutValues(search, this.link);
    if (query !== search.slice(1)) window.history.pushState({}, "", `${pathname}${query && `?${query}`}${hash}`);
  }

  /** Back or forward: shows that view at once, if the server knows nothing else of its address. */
  went() {
    clearTimeout(this.writing);
    const { search } = window.location;
    if (withoutValues(search, this.link) !== this.rest) return;
    const values = valuesIn(search, this.link) as Partial<WalkValues>;
    if (!this.documents[values.layer ?? 0] || values.blank_at !== this.hiddenAt) return;
    this.updates.receive(values);
    this.walk.show(values);
    this.opening?.show(hasNoKey(search, this.link));
  }

  update(payload: Payload<WalkHeader> | null) {
    if (payload) this.take(payload.header);
    this.walk.setTheme();
  }

  take(header: WalkHeader) {
    const { documents, values, acknowledged, layers, layer_marks: layerMarks, only_layer: onlyLayer } = header;
    const { drawings, lecture, link, plotly } = header;
    Object.assign(this, { link, asks: header.asks });
    const isSame = documents.join() === this.documents.join();
    const held = isSame ? this.walk.playing.hold() : null; // what it shows is the user's choice
    const isOther = header.opening !== this.isOpening || !isSame;
    if (header.opening !== null) this.greet();
    this.opening?.offer(header.first);
    if (isOther) this.opening?.show(header.opening === true);
    this.isOpening = header.opening;
    this.isLink = header.linked;
    this.rest = null;
    this.updates.receive(values, acknowledged);
    this.updates.answer();
    this.updates.flush(); // or this answer's address, which is older, would stay
    this.hiddenAt = values.blank_at;
    const { hides, writes } = header;
    const at = (address: string) => `${this.host.server}/${address}`;
    const follows = header.follows && { ...header.follows, page: at(header.follows.page) };
    const hidden = header.hidden && { ...header.hidden, ranked: header.hidden.ranked && at(header.hidden.ranked) };
    Object.assign(this.home, { hides, hidden, writes, follows });
    Object.assign(this.home, {
      layers,
      layerMarks,
      onlyLayer,
      drawings,
      plotly: () => loadPlotly(this.host.server + plotly),
    });
    this.home.documents = documents;
    this.walk.setLecture(lecture);
    if (!isSame) {
      this.documents = documents;
      this.walk.await(this.updates.values);
    }
    this.show();
    if (!isSame && !header.linked) this.walk.playing.forget(); // the link to the text before may have played it
    this.walk.playing.resume(held);
  }

  /** Shows what is chosen of the text that is there. */
  show() {
    const { values } = this.updates;
    this.walk.show(values);
    if (this.isLink) this.walk.checkLink(values);
    this.isLink = false;
  }

  /** Handles a shortcut of the page here if possible, without a request to the server. */
  asked(event: CustomEvent<string>) {
    if (this.walk.act(event.detail)) event.preventDefault();
  }

  destroy() {
    this.ends.abort();
    clearTimeout(this.writing);
    this.updates.destroy();
    this.walk.destroy();
  }
}

/** What the making of a document waits for. */
async function fetchPlace(server: string, digest: string) {
  const answer = await fetch(`${server}/attnviz/queue/${digest}`);
  return answer.ok ? answer.text() : "";
}

export default WalkComponent;
