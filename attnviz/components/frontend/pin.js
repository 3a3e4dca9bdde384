// What is pinned: changed here at once, told to the server when the viewer comes to rest, and taken from it otherwise.

import { Told } from "./told.js";

export const NOTHING = { q: null, k: null };

export const samePin = (a, b) => a.q === b.q && a.k === b.k;

export class Pin {
  /** `send(message)` tells the server of `pin`; a pin is {q, k}, each a position or null. */
  constructor(send) {
    this.told = new Told(send, { pin: NOTHING });
  }

  get at() {
    return this.told.at.pin;
  }

  /** Whether any axis is pinned. */
  get any() {
    return !samePin(this.at, NOTHING);
  }

  /** Takes the server's pin out of a header. */
  take({ q = null, k = null, heard }) {
    this.told.take({ pin: { q, k } }, heard);
  }

  /** Pins something else; says whether it is. */
  set({ q, k }, wait) {
    return this.told.set({ pin: { q, k } }, wait);
  }

  destroy() {
    this.told.destroy();
  }
}
