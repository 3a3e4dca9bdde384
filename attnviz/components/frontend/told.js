// A value that is changed here at once, told to the server, and otherwise taken from it.

const ANSWER = 3000; // ms after which the server's word counts again

export class Told {
  /** `send(value)` tells the server; `same(a, b)` compares two values. */
  constructor(send, { at, same = Object.is } = {}) {
    this.send = send;
    this.at = at;
    this.same = same;
    this.sent = null;
  }

  /** The server's value counts, unless it still speaks of a time before our own last one. */
  take(value) {
    const answered = !this.sent || this.same(this.sent.value, value);
    if (!answered && performance.now() - this.sent.since < ANSWER) return;
    this.sent = null;
    this.at = value;
  }

  /** Changes the value, and tells the server after `wait` ms without another change; says whether it is a new one. */
  set(value, wait = 0) {
    if (this.same(value, this.at)) return false;
    this.at = value;
    this.sent = { value, since: performance.now() };
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      this.sent = { value, since: performance.now() };
      this.send(value);
    }, wait);
    return true;
  }

  destroy() {
    clearTimeout(this.waiting);
  }
}
