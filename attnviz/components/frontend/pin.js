// The pinned row and column: changed here at once, sent to the server when the user pauses.

import { PendingUpdates } from "./pending_updates.js";

export const NOTHING = { q: null, k: null };

export const samePin = (a, b) => a.q === b.q && a.k === b.k;

export class Pin {
  /** `send(update)` sends the server the `pin`; a pin is {q, k}, each a position or null. */
  constructor(send) {
    this.updates = new PendingUpdates(send, { pin: NOTHING });
  }

  get at() {
    return this.updates.values.pin;
  }

  /** Whether any axis is pinned. */
  get any() {
    return !samePin(this.at, NOTHING);
  }

  /** Takes the server's pin out of a header. */
  take({ q = null, k = null, acknowledged }) {
    this.updates.receive({ pin: { q, k } }, acknowledged);
  }

  /** Pins something else; says whether it is. */
  set({ q, k }, wait) {
    return this.updates.set({ pin: { q, k } }, wait);
  }

  destroy() {
    this.updates.destroy();
  }
}
