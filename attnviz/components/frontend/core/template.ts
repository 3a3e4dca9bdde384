// What stands in an element, written as templates. When they are written again, the nodes stay, with their focus,
// selection and scroll position, and only what differs from the last time is changed. Text is never markup.

import { focused, SVG } from "./dom.ts";

const LIVE = ["value", "checked"]; // of a field, which the user changes too

type Properties = Record<string, unknown>;
type Tag = keyof HTMLElementTagNameMap | keyof SVGElementTagNameMap;

/** An element that is to stand somewhere, and what is to stand in it. */
export interface Template {
  tag: Tag;
  properties: Properties;
  children: Child[];
}
/** A text, an element, or a node of somebody else, which stays as it is; nothing leaves its place empty. */
export type Child = Template | Node | string | null | false | undefined;
interface Standing {
  child: Template | Node | string;
  node: ChildNode;
}

/** by element: what was written in it, by its place */
const written: WeakMap<Element, (Standing | null)[]> = new WeakMap();

/**
 * Describes an element. It is the same one as before if it has the same tag and the same `key`, or without a key the
 * same place.
 * @param properties an element's properties or attributes, without those that are undefined; `class`, and by their
 *   names `dataset` and `style`
 */
export const template = (tag: Tag, properties: Properties = {}, ...children: Child[]): Template => ({
  ...{ tag, properties, children },
});

export const span = (className: string, ...children: Child[]) => template("span", { class: className }, ...children);

/** A final number: what is read, and in data-value all its digits. */
export const result = (x: number, text: string, look = "result", title?: string) =>
  template("b", { class: look, title, dataset: { value: x, result: "" } }, text);

/**
 * Has these stand in an element, in place of what `write` put there before. The very same template as before is passed
 * over. Keys of one element's children must differ.
 */
export function write(parent: Element, ...children: Child[]) {
  const before = written.get(parent) ?? [];
  let byKey: Map<unknown, Standing | null> | null = null;
  const standing = children.map((child, n) => {
    if (!child) return null;
    const key = keyOf(child);
    if (key !== undefined) byKey ??= new Map(before.map((one) => [keyOf(one?.child), one]));
    const known = key === undefined ? before[n] : byKey?.get(key);
    if (known?.child === child) return known;
    return stand(parent, child, known && isSame(known.child, child) ? known : null);
  });
  written.set(parent, standing);
  if (before.length === standing.length && standing.every((one, n) => one?.node === before[n]?.node)) return;
  const nodes = standing.flatMap((one) => one?.node ?? []);
  const kept = new Set(nodes);
  for (const one of before) if (one && !kept.has(one.node) && one.node.parentNode === parent) one.node.remove();
  place(parent, nodes);
}

const keyOf = (child: Standing["child"] | Child) =>
  child && typeof child === "object" && !(child instanceof Node) ? child.properties.key : undefined;

function isSame(before: Standing["child"], now: Standing["child"]) {
  if (typeof before === "string" || typeof now === "string") return typeof before === typeof now;
  if (before instanceof Node || now instanceof Node) return before === now;
  return before.tag === now.tag && before.properties.key === now.properties.key;
}

/** @param known what stands there and is the same thing, or null */
function stand(parent: Element, child: Standing["child"], known: Standing | null): Standing {
  if (child instanceof Node) return { child, node: child as ChildNode };
  if (typeof child === "string") {
    const node = (known?.node as Text | undefined) ?? document.createTextNode(child);
    if (node.data !== child) node.data = child;
    return { child, node };
  }
  const isDrawn = child.tag === "svg" || (parent.namespaceURI === SVG && parent.tagName !== "foreignObject");
  const node = (known?.node ??
    (isDrawn ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag))) as HTMLElement;
  write(node, ...child.children);
  change(node, child.properties, (known?.child as Template | undefined)?.properties ?? {});
  return { child, node };
}

/** Puts nodes in order: what stands right is not touched, and the focus stays where it is. */
function place(parent: Element, nodes: ChildNode[]) {
  let at = parent.firstChild;
  for (const node of nodes) {
    if (node === at) at = at.nextSibling;
    else {
      const holds = node.isConnected ? focused(parent) : null;
      parent.insertBefore(node, at);
      if (holds instanceof HTMLElement && holds !== focused(parent)) holds.focus({ preventScroll: true });
    }
  }
}

function change(node: HTMLElement, now: Properties, before: Properties) {
  for (const [name, value] of differences(now, before)) {
    if (name === "key" || LIVE.includes(name)) continue;
    if (name === "dataset") {
      for (const [key, one] of differences(value, before[name])) {
        if (one === undefined) delete node.dataset[key];
        else node.dataset[key] = String(one);
      }
    } else if (name === "style") {
      for (const [key, one] of differences(value, before[name])) {
        node.style.setProperty(key, (one ?? null) as string | null);
      }
    } else if (value === undefined) {
      if (name.startsWith("on")) Object.assign(node, { [name]: null });
      else node.removeAttribute(name);
    } else if (name !== "class" && name in node && node.namespaceURI !== SVG) Object.assign(node, { [name]: value });
    else node.setAttribute(name, String(value));
  }
  for (const name of LIVE) {
    if (name in now && Reflect.get(node, name) !== now[name]) Object.assign(node, { [name]: now[name] });
  }
}

/** What differs, by name; what is gone is undefined. */
function differences(now: unknown, before: unknown) {
  const [all, known] = [(now ?? NONE) as Properties, (before ?? NONE) as Properties];
  const found: [string, unknown][] = [];
  for (const name in known) if (all[name] === undefined && known[name] !== undefined) found.push([name, undefined]);
  for (const name in all) if (all[name] !== undefined && all[name] !== known[name]) found.push([name, all[name]]);
  return found;
}

const NONE: Properties = {};
