// What the viewer has set: the state that the link holds. The viewer's own changes win over answers that speak of before.

const DEFAULTS = {
  layer: 0,
  head: 0,
  chosen: [[0, 0]],
  q: null,
  k: null,
  show: "both",
  direction: "vertical",
  threshold: 0,
  strongest: 0,
  special: "keep",
  between: "all",
  values: "weights",
  mean: false,
  stretch: false,
  sort: "",
  label: "",
};

const SETTLE = 250; // ms: a slider passes through many values, the link needs only the last
const ANSWER = 3000; // ms after which the server's word counts again

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export class State {
  /** `send(partial)` tells the server of changes. */
  constructor(send) {
    this.send = send;
    this.view = { ...DEFAULTS };
    this.own = new Map(); // name -> {value, at}: what was changed here and not yet heard back
    this.unsent = {};
  }

  /** Takes the server's view, except where it still speaks of a time before the viewer's last change. */
  take(view) {
    const now = performance.now();
    for (const [name, value] of Object.entries(view)) {
      const own = this.own.get(name);
      if (own && !same(own.value, value) && now - own.at < ANSWER) continue;
      if (!(name in this.unsent)) this.own.delete(name);
      this.view[name] = value;
    }
  }

  /** Changes the view at once, and tells the server when the viewer comes to rest. Returns whether anything changed. */
  change(partial) {
    const changed = Object.entries(partial).filter(([name, value]) => !same(value, this.view[name]));
    if (!changed.length) return false;
    for (const [name, value] of changed) {
      this.view[name] = value;
      this.unsent[name] = value;
      this.own.set(name, { value, at: performance.now() });
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), SETTLE);
    return true;
  }

  flush() {
    const sent = this.unsent;
    this.unsent = {};
    for (const [name, value] of Object.entries(sent)) this.own.set(name, { value, at: performance.now() });
    this.send(sent);
  }

  destroy() {
    clearTimeout(this.timer);
  }
}
