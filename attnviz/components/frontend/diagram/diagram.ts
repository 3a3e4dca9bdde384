// The diagram of a model: its parts are buttons that open them in the walk, the lines between them show the data's way.

import { element, focused, isAsBefore, svgElement } from "../core/dom.ts";
import { leastType, measurer } from "../core/type.ts";
import { layoutOf } from "./layout.ts";
import { allParts, partAt, stacksOf } from "./parts.ts";

const TYPE = 12.5; // px
const HINT = "Choose a part to open it. The arrows ‹ › go through all of them.";
const BETWEEN = 20; // px, the diagram and the hint
const HINT_WIDTH = { least: 150, most: 260 }; // px
const PHONE = 600; // px, room in which the hint stands below the diagram
const FRAME = 8; // px, between the frame of a block and its name
const BESIDE = 60; // px that are seen beside the part that is chosen
const INKS = ["residual", "key", "query", "value"] as const;

export type At = { layer: number; step: string };
export type AtHead = At & { head: number };

export class Diagram {
  choose;
  stacks: Stack[] = [];
  parts: Part[] = [];
  at: At = { layer: 0, step: "" };
  buttons = new Map<string, HTMLButtonElement>();
  boxes: DiagramBox[] = [];
  lines: SVGSVGElement;
  words = element("div", { class: "words", "aria-hidden": "true" });
  sheet = element("div", { class: "sheet" }, this.words);
  below = element("div", { class: "below", "aria-hidden": "true", hidden: true }, HINT);
  root: HTMLDivElement;
  sizes: ResizeObserver = new ResizeObserver(() => this.draw());
  text = ""; // the model as it was given
  /** what it was last drawn from */
  drawn: unknown[] = [];

  /** @param choose is called with the part that is opened */
  constructor(choose: (at: Partial<At>) => void) {
    this.choose = choose;
    this.lines = svgElement("svg", { "aria-hidden": true });
    this.sheet.prepend(this.lines);
    this.root = element(
      "div",
      { class: "diagram", role: "toolbar", "aria-label": "The model: open a part", hidden: true },
      ...[this.sheet, this.below],
    );
    this.root.addEventListener("keydown", (event) => this.key(event));
    // A part that is clicked leaves the arrow keys to the page.
    this.root.addEventListener("mousedown", (event) => event.preventDefault());
    this.sizes.observe(this.root);
  }

  take(model: ModelDiagram) {
    const text = JSON.stringify(model);
    if (text === this.text) return;
    this.text = text;
    this.stacks = stacksOf(model);
    this.parts = allParts(this.stacks);
    this.root.hidden = false;
    this.draw();
  }

  /** The part that is chosen. */
  get part() {
    return partAt(this.parts, this.at);
  }

  /** All steps of the model in order. */
  get route(): At[] {
    return this.parts.flatMap(({ layer, steps }) => steps.map(([step]) => ({ layer, step })));
  }

  /**
   * What there is to choose from beside the diagram: the steps of the part that is chosen, and what comes before and
   * after.
   * @param offered of the document alone
   */
  offer(offered: Offered, at: AtHead): Offered {
    const part = partAt(this.parts, at);
    if (!part) return offered;
    const { route } = this;
    const n = route.findIndex(({ layer, step }) => layer === at.layer && step === at.step);
    const isOfHeads = part.kind === "attention";
    return {
      ...offered,
      ...{ steps: part.steps, previous: route[n - 1] ?? null, next: route[n + 1] ?? null, isLed: true },
      heads: isOfHeads ? offered.heads : [],
      layerLabel: part.place,
      place: offered.place && part.place + (isOfHeads ? ` · head ${at.head}` : ""),
    };
  }

  /** Marks the part that is chosen. */
  show({ layer, step }: At) {
    this.at = { layer, step };
    this.draw();
  }

  // ---- drawing

  draw() {
    const { part, root } = this;
    const room = root.clientWidth;
    if (!part || !room) return;
    const { fontFamily } = getComputedStyle(root);
    const type = Math.max(TYPE, leastType());
    const drawn = [this.text, part.id, room, type, fontFamily];
    if (isAsBefore(drawn, this.drawn)) return;
    this.drawn = drawn;
    const measure = document.createElement("canvas").getContext("2d");
    const widthOf = measurer(measure as CanvasRenderingContext2D, `600 ${type}px ${fontFamily}`);
    const least = leastType();
    const layout = layoutOf(this.stacks, { chosen: part.id, width: room, type, least, widthOf });
    const order = this.parts.indexOf(part);
    Object.assign(this.sheet.style, {
      width: `${layout.width}px`,
      height: `${layout.height}px`,
      fontSize: `${layout.type}px`,
    });
    this.drawLines(layout, order);
    this.drawBoxes(layout.boxes, part);
    const frames = layout.frames.map(({ label, room: free, ...box }) => {
      const name = element("div", { style: `max-width: ${free - 2 * FRAME}px` }, element("span", {}, label));
      return placed(element("div", { class: "frame" }, name), box);
    });
    const words = layout.words.map(({ text, x, y }) => placed(element("span", {}, text), { x, y }));
    this.words.replaceChildren(...frames, ...words, ...hint(room, layout));
    this.below.hidden = room >= PHONE;
    this.reveal(part.id);
  }

  /** @param order of the part that is chosen */
  drawLines({ lines, width, height }: DiagramLayout, order: number) {
    this.lines.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const paths = lines.map((line) => {
      const name = `${line.ink}${line.order <= order ? " passed" : ""}`;
      const path = svgElement("path", { d: line.d, class: name, "stroke-width": line.width });
      if (line.arrow) path.setAttribute("marker-end", `url(#diagram-${line.ink})`);
      return path;
    });
    this.lines.replaceChildren(markers(), ...paths);
  }

  /** @param part that is chosen */
  drawBoxes(boxes: DiagramBox[], part: Part) {
    const hadFocus = this.root.contains(focused(this.root));
    const buttons = new Map(boxes.map((box) => [box.id, this.buttons.get(box.id) ?? this.makeButton(box)]));
    for (const [id, button] of this.buttons) if (!buttons.has(id)) button.remove();
    // A button that is put anew, even in its own place, loses the focus.
    let before = this.words as Element;
    for (const button of buttons.values()) {
      if (before.nextElementSibling !== button) before.after(button);
      before = button;
    }
    Object.assign(this, { buttons, boxes });
    for (const box of boxes) {
      const button = buttons.get(box.id) as HTMLButtonElement;
      const isChosen = box.id === part.id;
      placed(button, box);
      button.title = box.title;
      if (isChosen) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    }
    this.focusable(part.id);
    if (hadFocus && !this.root.contains(focused(this.root))) buttons.get(part.id)?.focus({ preventScroll: true });
  }

  makeButton({ id, kind, label, lines, inside = [] }: DiagramBox) {
    const stripes = inside.map((one) => element("i", { dataset: { kind: one } }));
    const says = { "aria-label": kind === "block" ? `${label}, closed` : label };
    return element(
      "button",
      { type: "button", class: "part", dataset: { kind }, ...says, onclick: () => this.open(id) },
      ...lines.map((line) => element("span", {}, line)),
      ...(stripes.length ? [element("span", { class: "inside" }, ...stripes)] : []),
    );
  }

  /** The one button that Tab leads to. */
  focusable(id: string) {
    for (const [own, button] of this.buttons) button.tabIndex = own === id ? 0 : -1;
  }

  /** Scrolls the diagram, and nothing else, until a part is seen. */
  reveal(id: string) {
    const box = this.boxes.find((one) => one.id === id);
    const { root } = this;
    if (!box) return;
    const over = box.x + box.width + BESIDE - root.clientWidth;
    root.scrollLeft = Math.min(Math.max(root.scrollLeft, over), Math.max(0, box.x - BESIDE));
  }

  // ---- choosing

  /** Opens a part; of a block that is closed the step that is chosen, if it has it. */
  open(id: string) {
    const box = this.boxes.find((one) => one.id === id);
    if (!box) return;
    const { layer, step, first } = box;
    this.choose(first === undefined ? { layer, step } : this.sameIn(first));
  }

  /**
   * The part of a block that is the same as the one that is chosen, else its first.
   * @param first the id of the block's first part
   */
  sameIn(first: string): At {
    const all = this.stacks.flatMap(({ blocks }) => blocks);
    const parts = all.find((block) => block.parts[0].id === first)?.parts ?? this.parts;
    const { part, at } = this;
    const same = parts.find(({ name, steps }) => name === part?.name && steps.some(([step]) => step === at.step));
    const { layer, opens } = same ?? parts[0];
    return { layer, step: same ? at.step : opens };
  }

  /** Arrow keys move the focus among the parts. */
  key(event: KeyboardEvent) {
    const at = this.boxes.findIndex(({ id }) => this.buttons.get(id) === focused(this.root));
    if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const keys: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      Home: 0,
      End: this.boxes.length - 1,
      ...this.across(at),
    };
    const to = keys[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const box = this.boxes[to];
    if (!box) return;
    this.focusable(box.id);
    this.buttons.get(box.id)?.focus({ preventScroll: true });
    this.reveal(box.id);
  }

  /** The nearest box of the stack above and of the one below. */
  across(at: number): Record<string, number> {
    const { x, width } = this.boxes[at];
    const stackOf = (n: number) => this.boxes[n].label.split(" ")[0].replace(",", "");
    const far = (n: number) => Math.abs(this.boxes[n].x + this.boxes[n].width / 2 - x - width / 2);
    const others = this.boxes.map((_, n) => n).filter((n) => stackOf(n) !== stackOf(at));
    if (!others.length) return {};
    const to = others.reduce((best, n) => (far(n) < far(best) ? n : best));
    return to > at ? { ArrowDown: to } : { ArrowUp: to };
  }

  destroy() {
    this.sizes.disconnect();
    this.root.remove();
  }
}

function placed<E extends HTMLElement>(made: E, { x, y, width, height }: Partial<Box>) {
  Object.assign(made.style, { left: `${x}px`, top: `${y}px` });
  if (width !== undefined) Object.assign(made.style, { width: `${width}px`, height: `${height}px` });
  return made;
}

/** What to do, beside the diagram where there is room. */
function hint(room: number, { width, height }: Size) {
  const { least, most } = HINT_WIDTH;
  const free = Math.min(most, room - width - 2 * BETWEEN);
  const box = { x: width + BETWEEN, y: 0, width: free, height };
  return free < least || room < PHONE ? [] : [placed(element("div", { class: "hint" }, HINT), box)];
}

/** The heads of the lines' arrows. */
function markers() {
  const sizes = { viewBox: "0 0 6 6", refX: 5.5, refY: 3, markerWidth: 6.5, markerHeight: 6.5 };
  const always = { ...sizes, markerUnits: "userSpaceOnUse", orient: "auto" };
  const heads = INKS.map((ink) =>
    svgElement("marker", { id: `diagram-${ink}`, class: ink, ...always }, svgElement("path", { d: "M0 0L6 3L0 6Z" })),
  );
  return svgElement("defs", {}, ...heads);
}
