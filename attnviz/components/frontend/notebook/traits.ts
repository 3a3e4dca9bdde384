// The traits of a widget that say what is chosen.

/** What the traits say. */
export const chosen = (model: WidgetModel, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, model.get(name)]));

/** Writes into the traits what the user has changed. */
export function tell(model: WidgetModel, names: readonly string[], values: Record<string, unknown>) {
  const changed = names.filter((name) => name in values);
  for (const name of changed) model.set(name, values[name]);
  if (changed.length) model.save_changes();
}

/** Calls a function when a trait changes; returns what ends that. */
export function followTraits(model: WidgetModel, names: readonly string[], follow: () => void) {
  const events = names.map((name) => `change:${name}`);
  for (const event of events) model.on(event, follow);
  return () => {
    for (const event of events) model.off(event, follow);
  };
}
