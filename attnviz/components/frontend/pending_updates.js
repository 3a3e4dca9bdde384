// Values that the user changes: shown at once, sent to the server, and taken from it once it has acknowledged them.

const ANSWER_TIMEOUT = 5000; // ms without an answer after which an update is sent again
const LOST_TIMEOUT = 2000; // ms after an answer without the acknowledgement: of two updates at once, one can be lost
const TRIES = 4; // after so many the server's values count, acknowledged or not

let last = 0;

/** The next update's number: higher than all before it, also after the component was mounted anew. */
const nextNumber = () => (last = Math.max(last + 1, Date.now()));

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export class PendingUpdates {
  /** `send({number, values})` sends an update; `values` are the first values, by name. */
  constructor(send, values) {
    this.send = send;
    this.values = values;
    this.pending = new Map(); // name -> the number of the update with its change; Infinity until it is sent
  }

  /** Takes the server's values, except those with a change that is not `acknowledged` yet (an update's number). */
  receive(values, acknowledged = 0) {
    for (const [name, number] of this.pending) if (number <= acknowledged) this.pending.delete(name);
    const settled = Object.entries(values).filter(([name]) => !this.pending.has(name));
    this.values = { ...this.values, ...Object.fromEntries(settled) };
    if (!this.pending.size) clearTimeout(this.timer);
    else if (!this.hasUnsent()) this.retryAfter(LOST_TIMEOUT);
  }

  /** Changes values, and sends them after `wait` ms without another change; says whether any value is new. */
  set(values, wait = 0) {
    const changed = Object.entries(values).filter(([name, value]) => !same(value, this.values[name]));
    if (!changed.length) return false;
    this.values = { ...this.values, ...Object.fromEntries(changed) };
    for (const [name] of changed) this.pending.set(name, Infinity);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(TRIES), wait);
    return true;
  }

  hasUnsent() {
    return [...this.pending.values()].includes(Infinity);
  }

  /** Sends all pending values: an update replaces an earlier one that the server has not read yet. */
  flush(tries) {
    this.tries = tries - 1;
    const number = this.hasUnsent() ? nextNumber() : Math.max(...this.pending.values());
    const names = [...this.pending.keys()];
    for (const name of names) this.pending.set(name, number);
    this.retryAfter(ANSWER_TIMEOUT);
    this.send({ number, values: Object.fromEntries(names.map((name) => [name, this.values[name]])) });
  }

  retryAfter(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.tries > 0 ? this.flush(this.tries) : this.pending.clear()), ms);
  }

  destroy() {
    clearTimeout(this.timer);
  }
}
