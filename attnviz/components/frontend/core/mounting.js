// The lifecycle of a component: created once per element, updated with new data, destroyed when it is removed.

import { afterWaiting } from "./waiting.js";

/** @typedef {{ data: Uint8Array, parentElement: HTMLElement, setTriggerValue: SetTriggerValue }} Call */
/**
 * @typedef {object} Mounted
 * @property {Component | null} component null until its module has come
 * @property {number} calls
 * @property {Call} last
 * @property {Uint8Array} [data] what the component was last updated with
 */

/**
 * The function that Streamlit calls, for components that `make(data, parentElement)` makes. Streamlit calls with every
 * change of theme too; then the data is not new. While a component is being made, only the last call counts.
 * @param {(data: Uint8Array, parentElement: HTMLElement) => Promise<Component>} make
 */
export function mounting(make) {
  /** @type {WeakMap<HTMLElement, Mounted>} */
  const mounted = new WeakMap();

  /** @param {Call} call @returns {Mounted} */
  const create = (call) => {
    /** @type {Mounted} */
    const created = { component: null, calls: 0, last: call };
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

  return (/** @type {Call} */ call) => {
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

/** @param {Mounted} known */
function update(known) {
  const { component, last } = known;
  if (!component) return;
  const isNew = last.data !== known.data;
  known.data = last.data;
  component.update(last.data, announced(last.setTriggerValue), isNew);
}

/** @param {SetTriggerValue} setTriggerValue @returns {SetTriggerValue} */
const announced = (setTriggerValue) => (name, value) => afterWaiting(() => setTriggerValue(name, value));
