// From the weights that are here and the viewer's settings to what is drawn. Nothing is worked out twice: a head keeps
// its array for as long as its filters stay, so that pictures can tell by identity that nothing changed.

import { isSame, ROLLOUT } from "./explorer_choice.js";
import { filtered, mean } from "./explorer_values.js";
import { headName } from "./explorer_words.js";
import { headColours } from "./colours.js";

export class Scene {
  constructor(store) {
    this.store = store;
    this.made = new Map(); // what is drawn now, by what it was made from
    this.slots = []; // the heads that have a colour, each at its colour's place
  }

  forget() {
    this.made.clear();
    this.slots = [];
  }

  /** What is drawn: {heads: [{head, name, colour, at, errors, seen, short}], missing, colours, high, least}. */
  of(view, theme) {
    const colours = this.colours(view.chosen, theme);
    const norms =
      view.values === "norms" && Boolean(this.store.norms) && !view.chosen.some(([, head]) => head === ROLLOUT);
    const filters = { special: view.special, between: view.between };
    const next = new Map();
    const once = (name, make) => {
      next.set(name, this.made.get(name) ?? make());
      return next.get(name);
    };
    const missing = view.chosen.filter((head) => !this.store.has(head));
    const here = view.chosen.filter((head) => this.store.has(head));
    let heads = here.map((head) => {
      const make = () =>
        filtered(this.store.codes(head), this.store.frame, filters, norms ? this.store.keyNorms(head) : null);
      const values = once([head, view.special, view.between, norms].join(), make);
      return { ...values, head, name: headName(head), colour: colours.get(head.join()) };
    });
    if (view.mean && view.chosen.length > 1) heads = missing.length ? [] : [averaged(heads, once, [...next.keys()])];
    this.made = next;
    const largest = heads.reduce((most, { high }) => Math.max(most, high), 0);
    const high = norms || view.stretch ? largest || 1 : 1;
    return { heads, missing, colours, high, least: view.threshold * (norms ? high : 1) };
  }

  /** A colour for each chosen head, which stays its own while others come and go. */
  colours(chosen, theme) {
    this.slots = this.slots.map((owner) => (owner && chosen.some((head) => isSame(head, owner)) ? owner : null));
    for (const head of chosen) {
      if (this.slots.some((owner) => owner && isSame(owner, head))) continue;
      const free = this.slots.indexOf(null);
      this.slots[free === -1 ? this.slots.length : free] = head;
    }
    const colours = headColours(this.slots.length, theme);
    return new Map(this.slots.flatMap((owner, n) => (owner ? [[owner.join(), colours[n]]] : [])));
  }
}

/** Several heads as one, made once for as long as its parts stay. */
function averaged(heads, once, parts) {
  const values = once(`mean of ${parts.join(";")}`, () => mean(heads));
  return { ...values, head: null, name: `mean of ${heads.length} heads`, colour: heads[0].colour };
}

/**
 * The heads' numbers (layer × heads + head) ranked by a measure, largest first; null where there is no such measure.
 */
export function ranked(store, name) {
  const { layers, heads, measures } = store.header;
  const at = measures.findIndex((measure) => measure.name === name);
  if (at === -1) return null;
  const value = (n) => store.measures[n * measures.length + at];
  const key = (n) => (Number.isNaN(value(n)) ? -Infinity : value(n));
  return Int32Array.from({ length: layers * heads }, (_, n) => n).sort((a, b) => key(b) - key(a) || a - b);
}

/** One byte a head: 1 where it does not carry the label; null where all do or none is asked for. */
export function fadedBy(store, label) {
  if (!label) return null;
  return Uint8Array.from(store.header.labels.flat(1), (own) => (own.includes(label) ? 0 : 1));
}
