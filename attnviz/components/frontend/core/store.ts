// The state of a view, in one place: whoever depends on some of it is called when that has changed, and only then.

export class Store<State extends object> {
  state: Partial<State>;
  subscribers: { names: (keyof State)[]; tell: (state: State) => void }[] = [];
  /** what has changed and not been told yet */
  changed = new Set<keyof State>();
  isTelling = false;

  constructor(first: Partial<State> = {}) {
    this.state = first;
  }

  /**
   * Has `tell` called when one of these has changed, as soon as all of them are there; those who subscribe first are
   * called first. By its type it gets these and no others, so that whatever it depends on is named.
   */
  subscribe<Name extends keyof State>(names: Name[], tell: (state: Pick<State, Name>) => void) {
    this.subscribers.push({ names, tell });
  }

  /**
   * Changes some of the state. A list or a plain object with the very same entries is the one before. A change that a
   * subscriber makes is told after this round, of which those who come later see it already.
   */
  set(changes: Partial<State>) {
    for (const name of Object.keys(changes) as (keyof State)[]) {
      if (isSame(changes[name], this.state[name])) continue;
      this.state = { ...this.state, [name]: changes[name] };
      this.changed.add(name);
    }
    if (this.isTelling) return;
    this.isTelling = true;
    try {
      while (this.changed.size) this.tell();
    } finally {
      this.isTelling = false;
    }
  }

  tell() {
    const { changed } = this;
    const errors: unknown[] = [];
    this.changed = new Set();
    for (const { names, tell } of this.subscribers) {
      const isThere = names.every((name) => this.state[name] !== undefined);
      if (!isThere || !names.some((name) => changed.has(name))) continue;
      try {
        tell(this.state as State);
      } catch (error) {
        errors.push(error); // the others have to know all the same
      }
    }
    if (errors.length) throw errors[0];
  }
}

function isSame(now: unknown, before: unknown) {
  if (Object.is(now, before)) return true;
  if (!isPlain(now) || !isPlain(before) || Array.isArray(now) !== Array.isArray(before)) return false;
  const names = Object.keys(now);
  return names.length === Object.keys(before).length && names.every((name) => Object.is(now[name], before[name]));
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  Array.isArray(value) ||
  (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype);
