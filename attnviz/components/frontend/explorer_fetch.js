// Requests heads from the server: those to be shown immediately, and when idle those likely to be shown next.

const LATE = 4000; // ms until an unanswered request is repeated
const TRIES = 3;
const ALL = 6.5e6; // bytes of one trace after which only what one key away is fetched ahead: no view is sent 8 MB
const AT_ONCE = 1e6; // bytes of one answer to what is fetched ahead: nobody shall wait long behind it

/** What the fetcher has to know of the store. */
/** @typedef {{ received: number, frame: CellCount, header: HeadShape, has(head: HeadId): boolean }} FetchStore */
/** @typedef {{ layers: number, heads: number }} HeadShape */

/** @param {HeadId} head */
const named = ([layer, head]) => `${layer} ${head}`;

export class Fetcher {
  /**
   * `ask([[layer, head], ...])` sends the question; `onLost()` is called when heads did not come after all tries.
   * @param {FetchStore} store @param {{ ask: (heads: HeadId[]) => void, onLost: () => void }} does
   */
  constructor(store, { ask, onLost }) {
    this.store = store;
    this.ask = ask;
    this.onLost = onLost;
    /** @type {Map<string, { head: HeadId, tries: number, due: number }>} */
    this.asked = new Map();
    /** @type {HeadId[] | null} what was fetched ahead and has not come */
    this.ahead = null;
    this.aheadDue = 0;
    this.startDue = 0;
    /** @type {number | undefined} */
    this.timer = undefined;
  }

  /**
   * Requests those of these heads that are neither loaded nor requested.
   * @param {HeadId[]} heads
   */
  need(heads) {
    const missing = heads.filter((head) => !this.store.has(head) && !this.asked.has(named(head)));
    if (missing.length) this.send(missing, 1);
  }

  /** Asks for all that comes with a first payload, where the server believes that it was sent. */
  start() {
    if (performance.now() < this.startDue) return;
    this.startDue = performance.now() + LATE;
    this.ask([]);
  }

  /** @param {HeadId[]} missing @param {number} tries */
  send(missing, tries) {
    const due = performance.now() + LATE;
    for (const head of missing) this.asked.set(named(head), { head, tries, due });
    this.ask(missing);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.again(), LATE + 50);
  }

  again() {
    const now = performance.now();
    const late = [...this.asked.values()].filter(({ due }) => due <= now);
    const lost = late.filter(({ tries }) => tries >= TRIES);
    const rest = late.filter(({ tries }) => tries < TRIES);
    if (rest.length) {
      this.send(
        rest.map(({ head }) => head),
        Math.max(...rest.map(({ tries }) => tries)) + 1,
      );
    }
    if (lost.length) this.onLost();
  }

  /**
   * Whether all requests for a head failed.
   * @param {HeadId} head
   */
  lost(head) {
    const question = this.asked.get(named(head));
    return question !== undefined && question.tries >= TRIES && question.due <= performance.now();
  }

  retry() {
    this.asked.clear();
  }

  /** Notes what has come. */
  answered() {
    for (const [name, { head }] of this.asked) if (this.store.has(head)) this.asked.delete(name);
    if (this.ahead?.every((head) => this.store.has(head))) this.ahead = null;
  }

  restart() {
    this.asked.clear();
    this.ahead = null;
    this.startDue = 0;
  }

  /**
   * Fetches one more answer's worth ahead of the current head, where nothing else is on its way.
   * @param {HeadId} head
   */
  fetchAhead(head) {
    if (this.asked.size || (this.ahead && performance.now() < this.aheadDue)) return;
    const { rows, cols } = this.store.frame;
    const bytes = rows * cols * 2;
    const left = Math.floor((ALL - this.store.received) / bytes);
    const wanted = left >= 1 ? nearby(head, this.store.header) : beside(head, this.store.header);
    const missing = wanted.filter((one) => !this.store.has(one));
    if (!missing.length) return;
    this.ahead = missing.slice(0, Math.max(1, Math.min(left, Math.floor(AT_ONCE / bytes))));
    this.aheadDue = performance.now() + LATE; // a lost answer must not end the fetching ahead
    this.ask(this.ahead);
  }

  destroy() {
    clearTimeout(this.timer);
  }
}

/**
 * The heads that an arrow key goes to: the same one of the layers beside this, and those beside it in its layer.
 * @param {HeadId} head @param {HeadShape} shape
 */
export function beside([layer, head], { layers, heads }) {
  /** @type {HeadId[]} */
  const steps = [
    [layer + 1, head],
    [layer, head + 1],
    [layer - 1, head],
    [layer, head - 1],
  ];
  return steps.filter(([l, h]) => head >= 0 && l >= 0 && l < layers && h >= 0 && h < heads);
}

/**
 * The heads likely to be shown next: those one key away, the rest of the layer, then the adjacent layers.
 * @param {HeadId} head @param {HeadShape} shape
 */
export function nearby([layer, head], { layers, heads }) {
  const near = [layer, layer + 1, layer - 1].filter((l) => l >= 0 && l < layers);
  const every = near.flatMap((l) => Array.from({ length: heads }, (_, h) => /** @type {HeadId} */ ([l, h])));
  const first = beside([layer, head], { layers, heads });
  return [...first, ...every.filter((one) => !first.some((other) => named(other) === named(one)))];
}
