// The traits of a widget that say what is chosen.

/** What the traits say. @param {WidgetModel} model @param {readonly string[]} names */
export const chosen = (model, names) => Object.fromEntries(names.map((name) => [name, model.get(name)]));

/**
 * Writes into the traits what the user has changed.
 * @param {WidgetModel} model @param {readonly string[]} names @param {Record<string, unknown>} values
 */
export function tell(model, names, values) {
  const changed = names.filter((name) => name in values);
  for (const name of changed) model.set(name, values[name]);
  if (changed.length) model.save_changes();
}

/**
 * Calls a function when a trait changes; returns what ends that.
 * @param {WidgetModel} model @param {readonly string[]} names @param {() => void} follow
 */
export function followTraits(model, names, follow) {
  const events = names.map((name) => `change:${name}`);
  for (const event of events) model.on(event, follow);
  return () => {
    for (const event of events) model.off(event, follow);
  };
}
