// The state of a view, in one place: whoever depends on some of it is called when that has changed, and only then.

type Names<State> = Set<keyof State>;

export class Store<State extends object> {
  state: Partial<State>;
  subscribers: { names: (keyof State)[]; tell: (state: State) => void }[];
  /** what has changed and not been told yet */
  changed: Names<State>;
  isTelling: boolean;

  constructor(first: Partial<State> = {}) {
    this.state = first;
    this.subscribers = [];
    this.changed = new Set();
    this.isTelling = false;
  }

  /**
   * Has `tell` called when one of these has changed, as soon as all of them are there; those who subscribe first are
   * called first. It gets these and no others, so that whatever it depends on is named.
   */
  subscribe<Name extends keyof State>(names: Name[], tell: (state: Pick<State, Name>) => void) {
    this.subscribers.push({ names, tell });
  }

  /** Changes some of the state. A change that a subscriber makes is told when all know of the one before it. */
  set(changes: Partial<State>) {
    const { state, changed } = this;
    for (const name of Object.keys(changes) as (keyof State)[]) {
      if (!Object.is(changes[name], state[name])) changed.add(name);
    }
    this.state = { ...state, ...changes };
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
    this.changed = new Set();
    for (const { names, tell } of this.subscribers) {
      const isThere = names.every((name) => this.state[name] !== undefined);
      if (isThere && names.some((name) => changed.has(name))) tell(this.state as State);
    }
  }
}
