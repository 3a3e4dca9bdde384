// What is pinned: changed here at once, sent to the server when the viewer comes to rest, and taken from it otherwise.

import { PendingUpdates } from "./pending_updates.js";

/** @type {Pair} */
export const NOTHING = { q: null, k: null };

/** @param {Pair} a @param {Pair} b */
export const samePin = (a, b) => a.q === b.q && a.k === b.k;

export class Pin {
  /**
   * `send(message)` sends the server `pin`; a pin is {q, k}, each a position or null.
   * @param {(message: Message) => void} send
   */
  constructor(send) {
    this.updates = new PendingUpdates(send, { pin: NOTHING });
  }

  /** @returns {Pair} */
  get at() {
    return this.updates.values.pin;
  }

  /** Whether any axis is pinned. */
  get any() {
    return !samePin(this.at, NOTHING);
  }

  /**
   * Takes the server's pin out of a header.
   * @param {PartialPair & { acknowledged: number }} header
   */
  take({ q = null, k = null, acknowledged }) {
    this.updates.receive({ pin: { q, k } }, acknowledged);
  }

  /**
   * Pins something else; says whether it is.
   * @param {Pair} pin @param {number} wait
   */
  set({ q, k }, wait) {
    return this.updates.set({ pin: { q, k } }, wait);
  }

  destroy() {
    this.updates.destroy();
  }
}
