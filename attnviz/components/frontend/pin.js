// What is pinned: changed here at once, told to the server when the viewer comes to rest, and taken from it otherwise.

const ANSWER = 3000; // ms after which the server's word on what is pinned counts again

export const NOTHING = { q: null, k: null };

export const samePin = (a, b) => a.q === b.q && a.k === b.k;

export class Pin {
  /** `send(pin)` tells the server; a pin is {q, k}, each a position or null. */
  constructor(send) {
    this.send = send;
    this.at = NOTHING;
    this.sent = null;
  }

  /** Whether any axis is pinned. */
  get any() {
    return this.at.q !== null || this.at.k !== null;
  }

  /** The server's pin counts, unless it still speaks of a time before our own last one. */
  take({ q = null, k = null }) {
    const answered = !this.sent || samePin(this.sent.pin, { q, k });
    if (!answered && performance.now() - this.sent.since < ANSWER) return;
    this.sent = null;
    this.at = { q, k };
  }

  /** Pins, and tells the server after `wait` ms without another pin; says whether that is anything new. */
  set(pin, wait) {
    if (samePin(pin, this.at)) return false;
    this.at = pin;
    this.sent = { pin, since: performance.now() };
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      this.sent = { pin, since: performance.now() };
      this.send(pin);
    }, wait);
    return true;
  }

  destroy() {
    clearTimeout(this.waiting);
  }
}
