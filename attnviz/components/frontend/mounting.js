// The lifecycle of a component: created once per element, updated with new data, destroyed when it is removed.

/**
 * The function that Streamlit calls, for what `make(root)` makes: something with `destroy()` and with
 * `update(data, setTriggerValue, isNew)`. Streamlit calls with every change of theme too; then the data is not new.
 * @param {(root: HTMLElement) => Component} make
 */
export function mounting(make) {
  /** @type {WeakMap<HTMLElement, { component: Component, calls: number, data?: Uint8Array }>} */
  const mounted = new WeakMap();
  /** @param {{ data: Uint8Array, parentElement: HTMLElement, setTriggerValue: SetTriggerValue }} call */
  return ({ data, parentElement, setTriggerValue }) => {
    let known = mounted.get(parentElement);
    if (!known) mounted.set(parentElement, (known = { component: make(parentElement), calls: 0 }));
    known.calls += 1;
    const { component, calls } = known;
    const isNew = data !== known.data;
    known.data = data;
    component.update(data, setTriggerValue, isNew);
    return () => {
      // Streamlit may run the clean-up of a call that a later one has already overtaken: only the last one counts.
      if (known.calls !== calls) return;
      component.destroy();
      mounted.delete(parentElement);
    };
  };
}
