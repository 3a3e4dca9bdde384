// The pin: changed here immediately, and sent to the server once the user pauses; otherwise it comes from the server.

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
   * Applies the server's pin from a header.
   * @param {PartialPair & { acknowledged: number }} header
   */
  take({ q = null, k = null, acknowledged }) {
    this.updates.receive({ pin: { q, k } }, acknowledged);
  }

  /**
   * Sets the pin; returns whether it changed.
   * @param {Pair} pin @param {number} wait
   */
  set({ q, k }, wait) {
    return this.updates.set({ pin: { q, k } }, wait);
  }

  destroy() {
    this.updates.destroy();
  }
}
