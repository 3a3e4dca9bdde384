// Computes what is drawn from the loaded weights and the viewer's settings. Results are cached: a head keeps its array
// while its filters stay the same, so pictures detect changes by identity.

import { isSame, ROLLOUT } from "./choice.ts";
import { filtered, mean } from "./values.ts";
import { headName } from "./words.ts";
import { headColours } from "../core/colours.ts";
import { LINK_KEYS } from "../core/constants.ts";
import { darkenedLimit, darkens, MANY } from "../core/colour_limit.ts";
import type { Store } from "./store.ts";

const THRESHOLD = LINK_KEYS.threshold.default; // where the viewer has not set another
const FEW = 3; // lines of each query in a long text, unless the viewer says otherwise

/** makes what is not there yet */
export type MakeOnce = (name: string, make: () => ShownValues) => ShownValues;

export class Scene {
  store;
  made = new Map<string, ShownValues>(); // what is drawn now, by what it was made from
  slots: (HeadId | null)[] = []; // the heads that have a colour, each at its colour's place

  constructor(store: Store) {
    this.store = store;
  }

  forget() {
    this.made.clear();
    this.slots = [];
  }

  /**
   * What is drawn: {heads: [{head, name, colour, at, errors, seen, short}], missing, colours, high, least, strongest,
   * dark, isDarkened, isLong}. In a long text colours and lines adapt by themselves.
   */
  of(view: HeadsView, theme: Theme): ShownScene {
    const colours = this.colours(view.chosen, theme);
    const norms =
      view.values === "norms" && Boolean(this.store.norms) && !view.chosen.some(([, head]) => head === ROLLOUT);
    const filters = { special: view.special, between: view.between };
    const next: Map<string, ShownValues> = new Map();
    const once: MakeOnce = (name, make) => {
      const values = this.made.get(name) ?? make();
      next.set(name, values);
      return values;
    };
    const missing = view.chosen.filter((head) => !this.store.has(head));
    let heads: ShownHead[] = view.chosen.flatMap((head) => {
      const codes = this.store.codes(head);
      if (!codes) return [];
      const make = () => filtered(codes, this.store.frameOf(head), filters, norms ? this.store.keyNorms(head) : null);
      const values = once([head, view.special, view.between, norms].join(), make);
      return [{ ...values, head, name: headName(head), colour: colours.get(head.join()) ?? "" }];
    });
    if (view.mean && view.chosen.length > 1) heads = missing.length ? [] : [averaged(heads, once, [...next.keys()])];
    this.made = next;
    const largest = heads.reduce((most, { high }) => Math.max(most, high), 0);
    const { cols } = this.store.frame;
    const isLong = cols >= MANY;
    const matrices = heads.map(({ at }) => at);
    const dark = darkenedLimit(matrices, cols);
    const isDarkened = darkens(view.stretch, cols);
    const high = norms ? largest || 1 : isDarkened ? dark : 1;
    const adapts = isLong && view.strongest === 0 && view.threshold === THRESHOLD;
    const rules = adapts
      ? { least: 0, strongest: FEW }
      : { least: view.threshold * (norms ? high : 1), strongest: view.strongest };
    return { heads, missing, colours, high, dark, isDarkened, isLong, ...rules };
  }

  /** A colour for each chosen head, which stays its own while others come and go. */
  colours(chosen: HeadId[], theme: Theme) {
    this.slots = this.slots.map((owner) => (owner && chosen.some((head) => isSame(head, owner)) ? owner : null));
    for (const head of chosen) {
      if (this.slots.some((owner) => owner && isSame(owner, head))) continue;
      const free = this.slots.indexOf(null);
      this.slots[free === -1 ? this.slots.length : free] = head;
    }
    const colours = headColours(this.slots.length, theme);
    const owned: Map<string, string> = new Map();
    for (const [n, owner] of this.slots.entries()) if (owner) owned.set(owner.join(), colours[n]);
    return owned;
  }
}

/** Several heads as one, made once for as long as its parts stay. */
function averaged(heads: ShownHead[], once: MakeOnce, parts: string[]): ShownHead {
  const values = once(`mean of ${parts.join(";")}`, () => mean(heads));
  return { ...values, head: null, name: `mean of ${heads.length} heads`, colour: heads[0].colour };
}

/**
 * The heads' numbers (layer × heads + head) ranked by a measure, largest first; null where there is no such measure.
 */
export function ranked(store: Store, name: string) {
  const { layers, heads, measures } = store.header;
  const at = measures.findIndex((measure) => measure.name === name);
  if (at === -1) return null;
  const value = (n: number) => store.measures[n * measures.length + at];
  const key = (n: number) => (Number.isNaN(value(n)) ? -Infinity : value(n));
  return Int32Array.from({ length: layers.length * heads }, (_, n) => n).sort((a, b) => key(b) - key(a) || a - b);
}

/** One byte a head: 1 where it does not carry the label; null where all do or none is asked for. */
export function fadedBy(store: Store, label: string) {
  if (!label) return null;
  return Uint8Array.from(store.header.labels.flat(1), (own) => (own.includes(label) ? 0 : 1));
}

/** The first head of the grid, in the order of a measure, that carries a label; null if none does. */
export function firstWith(store: Store, label: string, sort: string): HeadId | null {
  const { layers, heads } = store.header;
  const faded = fadedBy(store, label) ?? new Uint8Array(layers.length * heads);
  const order = ranked(store, sort) ?? Int32Array.from(faded.keys());
  const first = order.find((n) => !faded[n]);
  return first === undefined ? null : [layers[Math.floor(first / heads)], first % heads];
}
