// Computes what is drawn from the loaded weights and the viewer's settings. Results are cached: a head keeps its array
// while its filters stay the same, so pictures detect changes by identity.

import { isSame, ROLLOUT } from "./choice.js";
import { filtered, mean } from "./values.js";
import { headName } from "./words.js";
import { headColours } from "../core/colours.js";
import { darkEnd, darkens, MANY } from "../core/dark_end.js";

const THRESHOLD = 0.05; // where the viewer has not set another, as in attnviz/links/link.py
const FEW = 3; // lines of each query in a long text, unless the viewer says otherwise

/** @typedef {import("./store.js").Store} Store */
/** @typedef {(name: string, make: () => ShownValues) => ShownValues} Once makes what is not there yet */

export class Scene {
  /** @param {Store} store */
  constructor(store) {
    this.store = store;
    /** @type {Map<string, ShownValues>} */
    this.made = new Map(); // what is drawn now, by what it was made from
    /** @type {(HeadId | null)[]} */
    this.slots = []; // the heads that have a colour, each at its colour's place
  }

  forget() {
    this.made.clear();
    this.slots = [];
  }

  /**
   * What is drawn: {heads: [{head, name, colour, at, errors, seen, short}], missing, colours, high, least, strongest,
   * dark, isDarkened, isLong}. In a long text colours and lines adapt by themselves.
   * @param {HeadsView} view @param {Theme} theme @returns {ShownScene}
   */
  of(view, theme) {
    const colours = this.colours(view.chosen, theme);
    const norms =
      view.values === "norms" && Boolean(this.store.norms) && !view.chosen.some(([, head]) => head === ROLLOUT);
    const filters = { special: view.special, between: view.between };
    /** @type {Map<string, ShownValues>} */
    const next = new Map();
    /** @type {Once} */
    const once = (name, make) => {
      const values = this.made.get(name) ?? make();
      next.set(name, values);
      return values;
    };
    const missing = view.chosen.filter((head) => !this.store.has(head));
    /** @type {ShownHead[]} */
    let heads = view.chosen.flatMap((head) => {
      const codes = this.store.codes(head);
      if (!codes) return [];
      const make = () => filtered(codes, this.store.frame, filters, norms ? this.store.keyNorms(head) : null);
      const values = once([head, view.special, view.between, norms].join(), make);
      return [{ ...values, head, name: headName(head), colour: colours.get(head.join()) ?? "" }];
    });
    if (view.mean && view.chosen.length > 1) heads = missing.length ? [] : [averaged(heads, once, [...next.keys()])];
    this.made = next;
    const largest = heads.reduce((most, { high }) => Math.max(most, high), 0);
    const { cols } = this.store.frame;
    const isLong = cols >= MANY;
    const matrices = heads.map(({ at }) => at);
    const dark = darkEnd(matrices, cols);
    const isDarkened = darkens(view.stretch, cols);
    const high = norms ? largest || 1 : isDarkened ? dark : 1;
    const adapts = isLong && view.strongest === 0 && view.threshold === THRESHOLD;
    const rules = adapts
      ? { least: 0, strongest: FEW }
      : { least: view.threshold * (norms ? high : 1), strongest: view.strongest };
    return { heads, missing, colours, high, dark, isDarkened, isLong, ...rules };
  }

  /**
   * A colour for each chosen head, which stays its own while others come and go.
   * @param {HeadId[]} chosen @param {Theme} theme
   */
  colours(chosen, theme) {
    this.slots = this.slots.map((owner) => (owner && chosen.some((head) => isSame(head, owner)) ? owner : null));
    for (const head of chosen) {
      if (this.slots.some((owner) => owner && isSame(owner, head))) continue;
      const free = this.slots.indexOf(null);
      this.slots[free === -1 ? this.slots.length : free] = head;
    }
    const colours = headColours(this.slots.length, theme);
    /** @type {Map<string, string>} */
    const owned = new Map();
    for (const [n, owner] of this.slots.entries()) if (owner) owned.set(owner.join(), colours[n]);
    return owned;
  }
}

/**
 * Several heads as one, made once for as long as its parts stay.
 * @param {ShownHead[]} heads @param {Once} once @param {string[]} parts @returns {ShownHead}
 */
function averaged(heads, once, parts) {
  const values = once(`mean of ${parts.join(";")}`, () => mean(heads));
  return { ...values, head: null, name: `mean of ${heads.length} heads`, colour: heads[0].colour };
}

/**
 * The heads' numbers (layer × heads + head) ranked by a measure, largest first; null where there is no such measure.
 * @param {Store} store @param {string} name
 */
export function ranked(store, name) {
  const { layers, heads, measures } = store.header;
  const at = measures.findIndex((measure) => measure.name === name);
  if (at === -1) return null;
  /** @param {number} n */
  const value = (n) => store.measures[n * measures.length + at];
  /** @param {number} n */
  const key = (n) => (Number.isNaN(value(n)) ? -Infinity : value(n));
  return Int32Array.from({ length: layers.length * heads }, (_, n) => n).sort((a, b) => key(b) - key(a) || a - b);
}

/**
 * One byte a head: 1 where it does not carry the label; null where all do or none is asked for.
 * @param {Store} store @param {string} label
 */
export function fadedBy(store, label) {
  if (!label) return null;
  return Uint8Array.from(store.header.labels.flat(1), (own) => (own.includes(label) ? 0 : 1));
}

/**
 * The first head of the grid, in the order of a measure, that carries a label; null if none does.
 * @param {Store} store @param {string} label @param {string} sort
 * @returns {HeadId | null}
 */
export function firstWith(store, label, sort) {
  const { layers, heads } = store.header;
  const faded = fadedBy(store, label) ?? new Uint8Array(layers.length * heads);
  const order = ranked(store, sort) ?? Int32Array.from(faded.keys());
  const first = order.find((n) => !faded[n]);
  return first === undefined ? null : [layers[Math.floor(first / heads)], first % heads];
}
