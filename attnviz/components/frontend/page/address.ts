// The address of a view, written as the server writes it (attnviz/links), so that the server finds nothing to change.

import { SHARED_KEYS } from "../core/constants.ts";

export type Values = Record<string, string | number | boolean | null>;

/** The query of an address with these values; keys that are not of the view stay, before the others. */
export function withValues(query: string, values: Values, link: LinkKeys) {
  const { keys, defaults } = link;
  const found = meant(query, link);
  for (const [own, value] of Object.entries(values)) {
    const name = keyOf(own, link);
    if (!keys.includes(name)) continue;
    if (value === null || value === defaults[own]) found.delete(name);
    else found.set(name, typeof value === "boolean" ? String(Number(value)) : String(value));
  }
  for (const [name, value] of new URLSearchParams(link.plain)) if (found.get(name) === value) found.delete(name);
  const own = written(found, ofView(link), true);
  const others = written(found, [...keys, ...SHARED_KEYS], false);
  // In a lesson, an address without keys of the view would open the scene's own view.
  const opens = link.bare && !found.has("lesson") && own === written(new URLSearchParams(link.bare), keys, true);
  return [others, opens ? "" : own || link.plain, written(found, SHARED_KEYS, true)].filter(Boolean).join("&");
}

/** The keys of the view itself: not those that all pages share. */
const ofView = ({ keys }: LinkKeys) => keys.filter((name) => !SHARED_KEYS.includes(name));

/** The key of a value, which has another name on some pages. */
const keyOf = (name: string, { names }: LinkKeys) => names[name] ?? name;

/** Whether an address has no key of the page's links, not even one that all pages share. */
export const hasNoKey = (query: string, { keys }: LinkKeys) => !written(new URLSearchParams(query), keys, true);

/** What a query says; one without keys of the view stands for another. */
function meant(query: string, link: LinkKeys) {
  const isBare = !written(new URLSearchParams(query), ofView(link), true);
  return new URLSearchParams(isBare ? [query.replace("?", ""), link.bare].filter(Boolean).join("&") : query);
}

/** The pairs of a query whose keys are in a view's link, or the others, in the order of the link. */
function written(query: URLSearchParams, keys: readonly string[], own: boolean) {
  const pairs = [...query].filter(([name]) => keys.includes(name) === own);
  pairs.sort(([a], [b]) => keys.indexOf(a) - keys.indexOf(b));
  return pairs.map((pair) => pair.map(encoded).join("=")).join("&");
}

/** The query without what `withValues` writes. */
export const withoutValues = (query: string, link: LinkKeys) => withValues(query, link.defaults, link);

/** The values in an address; where it has none, the defaults. */
export function valuesIn(query: string, link: LinkKeys): Values {
  const { keys, defaults } = link;
  const found = meant(query, link);
  const read = ([name, byDefault]: [string, Values[string]]): [string, Values[string]] => {
    const text = found.get(keyOf(name, link));
    if (text === null) return [name, byDefault];
    if (typeof byDefault === "boolean") return [name, text === "1"];
    return [name, typeof byDefault === "string" ? text : Number(text)];
  };
  return Object.fromEntries(
    Object.entries(defaults)
      .filter(([name]) => keys.includes(keyOf(name, link)))
      .map(read),
  );
}

/** As Python's urlencode has it. */
function encoded(text: string) {
  const code = (one: string) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, code)
    .replace(/%20/g, "+");
}
