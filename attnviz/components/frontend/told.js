// Values that are changed here at once, told to the server until it has heard of them, and otherwise taken from it.

const LATE = 5000; // ms without an answer after which a message is sent again
const PASSED_OVER = 2000; // ms after an answer that knows nothing of it: where two messages meet, one can be lost
const TRIES = 4; // after so many the server's word counts, whatever it has heard

let last = 0;

/** The number of a message: higher than all before it, also where a component is made anew. */
const numbered = () => (last = Math.max(last + 1, Date.now()));

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export class Told {
  /** `send({number, values})` tells the server; `at` holds the values to begin with, by their names. */
  constructor(send, at) {
    this.send = send;
    this.at = at;
    this.unheard = new Map(); // name -> the number of the message that tells of its change; Infinity until it is sent
  }

  /** Takes the server's values, but for those whose change it has not `heard` of: a message's number. */
  take(values, heard = 0) {
    for (const [name, number] of this.unheard) if (number <= heard) this.unheard.delete(name);
    this.at = { ...this.at, ...Object.fromEntries(Object.entries(values).filter(([name]) => !this.unheard.has(name))) };
    if (!this.unheard.size) clearTimeout(this.timer);
    else if (!this.unsent()) this.await(PASSED_OVER);
  }

  /** Changes values, and tells the server after `wait` ms without another change; says whether any is a new one. */
  set(values, wait = 0) {
    const changed = Object.entries(values).filter(([name, value]) => !same(value, this.at[name]));
    if (!changed.length) return false;
    this.at = { ...this.at, ...Object.fromEntries(changed) };
    for (const [name] of changed) this.unheard.set(name, Infinity);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tell(TRIES), wait);
    return true;
  }

  unsent() {
    return [...this.unheard.values()].includes(Infinity);
  }

  /** Tells all that the server has not heard of, for its latest message takes the place of one that it has not read. */
  tell(tries) {
    this.tries = tries - 1;
    const number = this.unsent() ? numbered() : Math.max(...this.unheard.values());
    const names = [...this.unheard.keys()];
    for (const name of names) this.unheard.set(name, number);
    this.await(LATE);
    this.send({ number, values: Object.fromEntries(names.map((name) => [name, this.at[name]])) });
  }

  await(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.tries > 0 ? this.tell(this.tries) : this.unheard.clear()), ms);
  }

  destroy() {
    clearTimeout(this.timer);
  }
}
