// The state of a walk: the document, and what the view is shaped by. Listeners are called once for each change.

import { matricesOf } from "./matrices.js";

/** @type {WalkValues} */
const FIRST = {
  ...{ step: "tokens", layer: 0, head: 0, q: null, k: null, drawing: "stage" },
  ...{ predict: false, stretch: "0", limit: null, focus: "" },
};

/** @typedef {(changed: Set<string>) => void} Listener called with the names of what is new; "document" is one */

export class Store {
  constructor() {
    /** @type {WalkDocument | null} */
    this.document = null;
    this.isAwaited = false; // whether the document is of another text or model than the one that is on its way
    this.values = FIRST;
    /** @type {Listener} */
    this.listener = () => {};
  }

  /**
   * Changes values, and perhaps the document that they belong to; returns what is new.
   * @param {Partial<WalkValues>} values @param {WalkDocument} [document] @returns {Partial<WalkValues>}
   */
  set(values, document) {
    const before = this.values;
    const isNew = document !== undefined && document !== this.document;
    this.document = document ?? this.document;
    if (document) this.isAwaited = false;
    this.values = this.fitting({ ...before, ...values });
    const names = /** @type {(keyof WalkValues)[]} */ (Object.keys(FIRST));
    const changed = names.filter((name) => this.values[name] !== before[name]);
    if (changed.length || isNew) this.listener(new Set([...changed, ...(isNew ? ["document"] : [])]));
    return Object.fromEntries(changed.map((name) => [name, this.values[name]]));
  }

  /**
   * The values with those replaced that the document does not have: a link may say anything.
   * @param {WalkValues} values @returns {WalkValues}
   */
  fitting(values) {
    if (!this.document || this.isAwaited || this.document.header.layer !== values.layer) return values;
    const { heads, steps, query, key } = this.document.header;
    /** @param {number | null} at @param {string[]} labels */
    const inside = (at, labels) => (at !== null && Number.isInteger(at) && at >= 0 && at < labels.length ? at : null);
    const step = steps.find(({ name }) => name === values.step) ?? steps[0];
    return {
      ...values,
      head: heads.includes(values.head) ? values.head : heads[0],
      step: step.name,
      focus: step.picture?.panels.some(({ name }) => name === values.focus) ? values.focus : "",
      q: inside(values.q, query.labels),
      k: inside(values.k, key.labels),
    };
  }

  /** The document of what is chosen; null while it has to come. */
  get current() {
    return !this.isAwaited && this.document?.header.layer === this.values.layer ? this.document : null;
  }

  /** The step that is chosen. */
  get step() {
    return this.current?.header.steps.find(({ name }) => name === this.values.step) ?? null;
  }

  /** The matrices of the head that is chosen. */
  get matrices() {
    return this.current && matricesOf(this.current, this.values.head);
  }
}
