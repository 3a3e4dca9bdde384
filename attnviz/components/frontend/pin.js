// What is pinned: changed here at once, told to the server when the viewer comes to rest, and taken from it otherwise.

import { Told } from "./told.js";

export const NOTHING = { q: null, k: null };

export const samePin = (a, b) => a.q === b.q && a.k === b.k;

export class Pin extends Told {
  /** `send(pin)` tells the server; a pin is {q, k}, each a position or null. */
  constructor(send) {
    super(send, { at: NOTHING, same: samePin });
  }

  /** Whether any axis is pinned. */
  get any() {
    return this.at.q !== null || this.at.k !== null;
  }

  take({ q = null, k = null }) {
    super.take({ q, k });
  }
}
