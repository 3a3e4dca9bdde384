// How a component lives: made once for its place on the page, told of new data, destroyed when it goes.

/**
 * The function that Streamlit calls, for what `make(root)` makes: something with `destroy()` and with
 * `update(data, setTriggerValue, isNew)`. Streamlit calls with every change of theme too; then the data is not new.
 */
export function mounting(make) {
  const mounted = new WeakMap();
  return ({ data, parentElement, setTriggerValue }) => {
    let held = mounted.get(parentElement);
    if (!held) mounted.set(parentElement, (held = { made: make(parentElement), turn: 0 }));
    held.turn += 1;
    const { made, turn } = held;
    const isNew = data !== held.data;
    held.data = data;
    made.update(data, setTriggerValue, isNew);
    return () => {
      // Streamlit may run the clean-up of a call that a later one has already overtaken: only the last one counts.
      if (held.turn !== turn) return;
      made.destroy();
      mounted.delete(parentElement);
    };
  };
}
