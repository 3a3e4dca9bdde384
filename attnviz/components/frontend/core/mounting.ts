// The lifecycle of a component: created once per element, updated with new data, destroyed when it is removed.

import { afterWaiting } from "./waiting.ts";

export type Call = { data: Uint8Array; parentElement: HTMLElement; setTriggerValue: SetTriggerValue };
export interface Mounted {
  /** null until its module has come */
  component: Component | null;
  calls: number;
  last: Call;
  /** what the component was last updated with */
  data?: Uint8Array;
}

/**
 * The function that Streamlit calls, for components that `make(data, parentElement)` makes. Streamlit calls with every
 * change of theme too; then the data is not new. While a component is being made, only the last call counts.
 */
export function mounting(make: (data: Uint8Array, parentElement: HTMLElement) => Promise<Component>) {
  const mounted: WeakMap<HTMLElement, Mounted> = new WeakMap();

  const create = (call: Call): Mounted => {
    const created: Mounted = { component: null, calls: 0, last: call };
    const { parentElement } = call;
    mounted.set(parentElement, created);
    make(call.data, parentElement).then(
      (component) => {
        created.component = component;
        if (mounted.get(parentElement) === created) update(created);
        else component.destroy();
      },
      (error) => {
        mounted.delete(parentElement); // the next call tries again
        throw error;
      },
    );
    return created;
  };

  return (call: Call) => {
    const { parentElement } = call;
    const known = mounted.get(parentElement) ?? create(call);
    known.calls += 1;
    known.last = call;
    const { calls } = known;
    update(known);
    return () => {
      // Streamlit may run the clean-up of a call that a later one has already overtaken: only the last one counts.
      if (known.calls !== calls || mounted.get(parentElement) !== known) return;
      mounted.delete(parentElement);
      known.component?.destroy();
    };
  };
}

function update(known: Mounted) {
  const { component, last } = known;
  if (!component) return;
  const isNew = last.data !== known.data;
  known.data = last.data;
  component.update(last.data, announced(last.setTriggerValue), isNew);
}

const announced =
  (setTriggerValue: SetTriggerValue): SetTriggerValue =>
  (name, value) =>
    afterWaiting(() => setTriggerValue(name, value));
