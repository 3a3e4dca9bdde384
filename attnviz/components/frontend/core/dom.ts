// Creates the elements of all components. Text is always set as textContent, never as markup.

/**
 * Makes an element; children are nodes or strings, and strings become text nodes, never markup.
 * @param properties an element's properties or attributes, listeners such as `onclick`, and `class` and `dataset`
 */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Record<string, unknown> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "dataset") Object.assign(made.dataset, value);
    else if (name === "class") made.className = String(value);
    else if (name in made) Object.assign(made, { [name]: value });
    else made.setAttribute(name, String(value));
  }
  made.append(...children);
  return made;
}

export const SVG = "http://www.w3.org/2000/svg";

/** Makes an element of a drawing; children as for `element`. */
export function svgElement<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, unknown> = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[Tag] {
  const made = document.createElementNS(SVG, tag);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

export function setAttributes(of: Element, attributes: Record<string, unknown>) {
  for (const [name, value] of Object.entries(attributes)) of.setAttribute(name, String(value));
}

const READ = 60_000; // ms after which a busy browser, too, has read a file

/** Gives the user a file. Its address stays for a while: a busy browser reads it late, or else drops the download. */
export function download(file: Blob, name: string) {
  const link = element("a", { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), READ);
}

/** Scrolls to the first of some elements, if none of them is in the window: one that is too tall fills half of it. */
export function bringIntoView(elements: Element[]) {
  const high = window.innerHeight;
  const isSeen = (one: Element) => {
    const { top, bottom, height } = one.getBoundingClientRect();
    return height > high ? top < high / 2 && bottom > high / 2 : top >= 0 && bottom <= high;
  };
  if (!elements.some(isSeen)) elements[0]?.scrollIntoView({ block: "center" });
}

export const span = (className: string, ...children: (Node | string)[]) =>
  element("span", { class: className }, ...children);

/** The style of what only screen readers find. */
export const UNSEEN =
  "position: absolute; overflow: hidden; width: 1px; height: 1px; margin: 0; " +
  "clip-path: inset(50%); white-space: nowrap";

/** Changes a text if it is another one: screen readers say each change. */
export function setText(of: HTMLElement, text: string) {
  if (of.textContent !== text) of.textContent = text;
}

/** A paragraph for screen readers: nothing of it is seen. */
export const screenReaderOnly = (properties: Record<string, unknown>) => element("p", { style: UNSEEN, ...properties });

/** A word for screen readers. */
export const unseen = (text: string) => element("span", { style: UNSEEN }, text);

/** Whether something is made of the very same things as before, so that it need not be made anew. */
export const isAsBefore = (now: unknown[], before: unknown[]) =>
  now.length === before.length && now.every((one, n) => one === before[n]);

/** The context that a canvas is drawn on. */
export const contextOf = (canvas: HTMLCanvasElement) => canvas.getContext("2d") as CanvasRenderingContext2D;

/** "dark" or "light", from the background that Streamlit's theme sets on the page. */
export function theme(host: HTMLElement): Theme {
  const probe = element("span", { style: "background: var(--st-background-color); display: none" });
  host.append(probe);
  const channels = getComputedStyle(probe).backgroundColor.match(/[\d.]+/g) ?? [];
  const [red = 255, green = 255, blue = 255] = channels.map(Number);
  probe.remove();
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128 ? "dark" : "light";
}

/** Runs `work` once in the next frame, however often it is asked for before. */
export function perFrame(work: () => void): FrameTask {
  let asked = 0;
  const ask = () => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      work();
    });
  };
  ask.cancel = () => {
    cancelAnimationFrame(asked);
    asked = 0;
  };
  return ask;
}

/** The field that a key press is typed into, or null: inside a shadow root only the event's path tells. */
export function typedInto(event: Event) {
  const [field] = event.composedPath();
  return field instanceof Element && field.matches("input, textarea, [contenteditable]") ? field : null;
}

/** What has the focus in the document or shadow root that an element stands in. */
export function focused(inside: Element) {
  const root = inside.getRootNode();
  return root instanceof Document || root instanceof ShadowRoot ? root.activeElement : null;
}

/** Clicks what a selector finds on the page, if anything. */
export function clickOn(css: string) {
  const found = document.querySelector(css);
  if (found instanceof HTMLElement) found.click();
}

const BESIDE = 24; // px: of the neighbour of what is brought into sight

/** Scrolls a row sideways, and nothing else, until one of its parts is seen. */
export function bringIntoSight(part: Element, row: Element) {
  const [inside, around] = [part.getBoundingClientRect(), row.getBoundingClientRect()];
  const [over, under] = [inside.right + BESIDE - around.right, inside.left - BESIDE - around.left];
  row.scrollLeft += under < 0 ? under : Math.max(0, Math.min(over, under));
}
