// How a component lives: made once for its place on the page, told of new data, destroyed when it goes.

/**
 * The function that Streamlit calls, for what `make(root)` makes: something with `turn` (a counter), with
 * `update(data, setTriggerValue)`, which counts it up and returns it, and with `destroy()`.
 */
export function mounting(make) {
  const mounted = new WeakMap();
  return ({ data, parentElement, setTriggerValue }) => {
    let made = mounted.get(parentElement);
    if (!made) mounted.set(parentElement, (made = make(parentElement)));
    const turn = made.update(data, setTriggerValue);
    return () => {
      // Streamlit may run the clean-up of a call that a later one has already overtaken: only the last one counts.
      if (made.turn !== turn) return;
      made.destroy();
      mounted.delete(parentElement);
    };
  };
}
