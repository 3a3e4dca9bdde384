// Optimistic updates: values change here immediately and are sent until the host acknowledges them; values without
// pending updates come from the host.

import type { Source } from "./arrays.ts";
import { followHistory } from "./back_forward.ts";
import { isToPage } from "./streamlit.ts";

const LATE = 5000; // ms without an answer after which a message is sent again
const OVERTAKEN = 2000; // ms after an answer that does not know of it: where two messages meet, one can be lost
const HELD = 1000; // ms for which something else waits for an answer
const TRIES = 4; // after this many, the server's values replace ours even if it has not acknowledged them

let last = 0;

/** The number of a message: higher than all before it, also where a component is made anew. */
export const nextNumber = () => (last = Math.max(last + 1, Date.now()));

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

export class PendingUpdates<Values extends object> {
  host: Pick<Host, "send" | "request">;
  values: Values;
  tries = 0;
  /** who waits for an answer */
  asking: (() => void)[] = [];
  timer: number | undefined;
  /** name -> the number of the message with its change; Infinity until it is sent */
  pending = new Map<string, number>();

  /** @param values to begin with, by their names */
  constructor(host: Pick<Host, "send" | "request">, values: Values) {
    this.host = host;
    this.values = values;
  }

  /**
   * Applies the server's values, except for those with an unacknowledged change.
   * @param acknowledged the number of the last message that they know of
   */
  receive(values: Partial<Values>, acknowledged = 0) {
    for (const [name, number] of this.pending) if (number <= acknowledged) this.pending.delete(name);
    const known = Object.entries(values).filter(([name]) => !this.pending.has(name));
    this.values = { ...this.values, ...Object.fromEntries(known) };
    if (!this.pending.size) clearTimeout(this.timer);
    else if (!this.hasUnsent()) this.sendAgainAfter(OVERTAKEN);
  }

  /**
   * Changes values, and sends them after `wait` ms without another change; returns whether any value changed. With
   * Infinity they wait for `flush`.
   */
  set(values: Partial<Values>, wait = 0) {
    const before = new Map(Object.entries(this.values));
    const changed = Object.entries(values).filter(([name, value]) => !same(value, before.get(name)));
    if (!changed.length) return false;
    this.values = { ...this.values, ...Object.fromEntries(changed) };
    for (const [name] of changed) this.pending.set(name, Infinity);
    clearTimeout(this.timer);
    if (wait < Infinity) this.timer = setTimeout(() => this.sendAll(TRIES), wait);
    return true;
  }

  /** Sends values at once, also where they are the same as the last time: what is asked for once more. */
  sendAgain(values: Partial<Values>) {
    const names = Object.keys(values);
    const others = Object.entries(this.values).filter(([name]) => !names.includes(name));
    this.values = Object.fromEntries(others) as Values;
    this.set(values);
  }

  /** Sends what has not been sent; returns whether there was anything. */
  flush() {
    const has = this.hasUnsent();
    if (has) this.sendAll(TRIES);
    return has;
  }

  /**
   * On the way to another page: what waits is sent as soon as a link to it is pressed. After the click nothing is sent,
   * for a message of this page would lead back to it. After Back or Forward, what was chosen before counts no more: it
   * would be sent with the other link, and change that view.
   */
  followLeaving(signal: AbortSignal) {
    document.addEventListener("pointerdown", (event) => isToPage(event) && this.flush(), { signal, capture: true });
    document.addEventListener("click", (event) => isToPage(event) && this.drop(), { signal });
    followHistory(() => this.drop(), signal);
  }

  /** Gives up changes that the server has not acknowledged: its next values count. */
  drop() {
    clearTimeout(this.timer);
    this.pending.clear();
  }

  /**
   * Asks for an answer of the server, also where nothing has changed; resolves when it has come, or comes no more.
   */
  ask(): Promise<void> {
    const isFirst = !this.asking.length;
    const answered = this.answered(LATE);
    if (isFirst && this.pending.size) this.sendAll(TRIES);
    else if (isFirst) this.send({ number: nextNumber(), values: {} });
    return answered;
  }

  /** Resolves when an answer has come to what was sent, or comes late; null if the server knows all. */
  arrives(): Promise<void> | null {
    if (!this.pending.size) return null;
    return this.answered(HELD);
  }

  /** Resolves when an answer has come, or after this time. */
  answered(ms: number): Promise<void> {
    return new Promise((answered) => {
      const asking = () => {
        clearTimeout(late);
        answered();
      };
      const late = setTimeout(() => {
        this.asking = this.asking.filter((one) => one !== asking);
        answered();
      }, ms);
      this.asking.push(asking);
    });
  }

  /** Is called when an answer of the server has come. */
  answer() {
    for (const answered of this.asking.splice(0)) answered();
  }

  hasUnsent() {
    return [...this.pending.values()].includes(Infinity);
  }

  /**
   * Sends all unacknowledged values, because a message replaces an earlier one that the server has not read.
   * @param tries how many are left
   */
  sendAll(tries: number) {
    this.tries = tries - 1;
    const number = this.hasUnsent() ? nextNumber() : Math.max(...this.pending.values());
    for (const name of this.pending.keys()) this.pending.set(name, number);
    const values = Object.fromEntries(Object.entries(this.values).filter(([name]) => this.pending.has(name)));
    this.sendAgainAfter(LATE);
    this.send({ number, values });
  }

  send(message: Message) {
    if (!this.host.send(message)) return;
    this.receive({}, message.number);
    this.answer();
  }

  /** Where files come from, which the page has to offer before it is asked for them. */
  get source(): Source {
    return { request: (name) => this.host.request(name), offerAgain: () => this.ask() };
  }

  sendAgainAfter(ms: number) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.tries > 0 ? this.sendAll(this.tries) : this.pending.clear()), ms);
  }

  destroy() {
    clearTimeout(this.timer);
  }
}
