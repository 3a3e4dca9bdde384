// The state of a walk: the document, and what the view is shaped by. Listeners are called once for each change.

import { matricesOf } from "./matrices.ts";
import { STEP_ORDER } from "../core/constants.ts";

/** The step that shows the text, without a matrix. */
export const SENTENCE = "tokens";

const FIRST: WalkValues = {
  ...{ step: SENTENCE, layer: 0, head: 0, q: null, k: null, drawing: "stage" },
  ...{ predict: false, stretch: "0", limit: null, focus: "", dim: false, why: false, play: false, blank_at: null },
};

/** called with the names of what is new; "document" is one */
export type Listener = (changed: Set<string>) => void;

export class Store {
  document: WalkDocument | null = null;
  isAwaited = false; // whether the document is of another text or model than the one that is on its way
  values: WalkValues = FIRST;
  listener: Listener = () => {};

  /** Changes values, and perhaps the document that they belong to; returns what is new. */
  set(values: Partial<WalkValues>, document?: WalkDocument): Partial<WalkValues> {
    const before = this.values;
    const isNew = document !== undefined && document !== this.document;
    this.document = document ?? this.document;
    if (document) this.isAwaited = false;
    this.values = this.fitting({ ...before, ...values });
    const names = Object.keys(FIRST) as (keyof WalkValues)[];
    const changed = names.filter((name) => this.values[name] !== before[name]);
    if (changed.length || isNew) this.listener(new Set([...changed, ...(isNew ? ["document"] : [])]));
    return Object.fromEntries(changed.map((name) => [name, this.values[name]]));
  }

  /** The values with those replaced that the document does not have: a link may say anything. */
  fitting(values: WalkValues): WalkValues {
    if (!this.document || this.isAwaited || this.document.header.layer !== values.layer) return values;
    const { heads, steps, query, key } = this.document.header;
    const inside = (at: number | null, labels: string[]) =>
      at !== null && Number.isInteger(at) && at >= 0 && at < labels.length ? at : null;
    const known = (wanted: string) => steps.find(({ name }) => name === wanted);
    const earlier = STEP_ORDER.slice(0, Math.max(0, STEP_ORDER.indexOf(values.step)));
    const before = steps.filter(({ name }) => earlier.includes(name)).at(-1);
    const step = known(values.step) ?? before ?? steps[0]; // not every layer has every step
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
