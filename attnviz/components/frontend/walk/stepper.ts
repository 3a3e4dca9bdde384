// The stepper: the steps in order, and below them the layer, its heads and the drawing. Choices are shown immediately.

import { element, focused, span } from "../core/dom.ts";
import { read } from "./choices.ts";
import { HeadStrip } from "./head_strip.ts";

/** what there is before anything is offered */
const EMPTY: Offered = {
  ...{ steps: [], previous: null, next: null, drawings: [], layers: [], heads: [] },
  ...{ layerLabel: "", place: "", switches: [] },
};

export class Stepper {
  onChoice;
  values: Record<string, string>;
  offered: Offered;
  previous: HTMLButtonElement;
  next: HTMLButtonElement;
  steps: Row;
  drawings: Row;
  place: HTMLSpanElement;
  layer: HTMLSelectElement;
  layerBox: HTMLSpanElement;
  strip: HeadStrip;
  switches: HTMLSpanElement;
  section: HTMLElement;

  /** `onChoice(values)` is called with what the user chooses. */
  constructor(root: Element | ShadowRoot, onChoice: (values: Partial<WalkValues>) => void) {
    this.onChoice = onChoice;
    this.values = {}; // as a link has them: "weights", "3", "1"
    this.offered = EMPTY;
    this.previous = arrow("‹", "Previous step (←)", () => this.act("previous"));
    this.next = arrow("›", "Next step (→)", () => this.act("next"));
    this.steps = new Row("Step", (value) => this.choose("step", value));
    this.drawings = new Row("Drawing", (value) => this.choose("drawing", value));
    this.drawings.root.addEventListener("keydown", (event) => this.drawings.key(event));
    this.place = span("place");
    this.layer = element("select", { "aria-label": "Layer" });
    this.layer.addEventListener("change", () => this.choose("layer", this.layer.value));
    this.layerBox = span("layer", this.layer);
    this.strip = new HeadStrip((head) => this.choose("head", String(head)));
    this.switches = span("switches");
    this.section = element(
      "section",
      { class: "stepper", "aria-label": "Steps, layer and heads", style: "visibility: hidden" },
      element("div", { class: "steps" }, this.previous, this.steps.root, this.next, this.place, this.drawings.root),
      element("div", { class: "heads" }, this.layerBox, this.strip.root, this.switches),
    );
    root.append(this.section);
  }

  /**
   * Shows what there is to choose from. `pictures` are the heads' thumbnails: `weights` (H, n, m) and, where cells are
   * masked, `hidden` (n, m); without them there is no choice of a head.
   */
  offer(offered: Offered, pictures: Arrays, shade: Theme) {
    this.offered = offered;
    this.section.dataset.theme = shade;
    this.steps.offer(offered.steps);
    this.drawings.offer(offered.drawings);
    this.layerBox.hidden = !offered.layers.length || Boolean(offered.isLed);
    const layers = offered.layers.map(String);
    if (Array.from(this.layer.options, ({ value }) => value).join() !== layers.join()) {
      this.layer.replaceChildren(...layers.map((value) => element("option", { value }, `layer ${value}`)));
    }
    this.strip.root.hidden = !pictures.weights || !offered.heads.length;
    const strip = { heads: offered.heads, layer: offered.layerLabel, shade, covered: offered.covered ?? null };
    if (pictures.weights) this.strip.draw(pictures, strip);
    this.offerSwitches(offered.switches);
    this.place.textContent = offered.place;
    this.section.classList.toggle("lecture", Boolean(offered.place));
    this.mark();
  }

  /** Those that are there already stay, and with them the focus. */
  offerSwitches(switches: Offered["switches"]) {
    const known = new Map(buttonsOf(this.switches).map((one) => [one.dataset.name, one]));
    const shown = switches.map(({ name }) => known.get(name) ?? this.makeSwitch(name));
    for (const [n, { label, help, isOn }] of switches.entries()) {
      const { lastElementChild: text } = shown[n];
      if (text && text.textContent !== label) text.textContent = label;
      shown[n].title = help;
      shown[n].setAttribute("aria-checked", String(isOn));
    }
    if (switches.map(({ name }) => name).join() !== [...known.keys()].join()) this.switches.replaceChildren(...shown);
  }

  makeSwitch(name: string) {
    const made = element("button", { type: "button", role: "switch", class: "switch" }, span("knob"), span("label"));
    made.dataset.name = name;
    made.addEventListener("click", () => this.turnOver(name));
    return made;
  }

  /** Lights a head of this layer that a word names. */
  name(target: Target | null) {
    const isHere = target && target.layer !== null && String(target.layer) === this.chosen("layer");
    this.strip.light(isHere ? target.head : null);
  }

  chosen(name: string) {
    return this.values[name] ?? "";
  }

  /** Shows what is chosen. */
  select(values: Record<string, string>) {
    this.values = { ...this.values, ...values };
    this.mark();
  }

  choose(name: string, value: string) {
    if (value === this.chosen(name)) return;
    this.select({ [name]: value });
    this.onChoice(read(name, value));
  }

  mark() {
    this.previous.disabled = !this.offered.previous;
    this.next.disabled = !this.offered.next;
    this.steps.select(this.chosen("step"));
    this.drawings.select(this.chosen("drawing"));
    this.layer.value = this.chosen("layer");
    this.strip.select(Number(this.chosen("head")));
  }

  /** Does what a key asks for; says whether it is one of these. */
  act(name: string) {
    const { previous, next, drawings } = this.offered;
    const [heads, layers] = [this.offered.heads, this.offered.layers].map((numbers) => numbers.map(String));
    const acts: Record<string, () => void> = {
      next: () => next && this.onChoice(next),
      previous: () => previous && this.onChoice(previous),
      head_on: () => this.go("head", heads, 1),
      head_back: () => this.go("head", heads, -1),
      layer_on: () => this.go("layer", layers, 1),
      layer_back: () => this.go("layer", layers, -1),
      drawing: () =>
        this.choose("drawing", names(drawings).find((one) => one !== this.chosen("drawing")) ?? this.chosen("drawing")),
      predict: () => this.turnOver("predict"),
      stretch: () => this.turnOver("stretch"),
    };
    acts[name]?.();
    return name in acts;
  }

  /** Moves forward or back in a list, and stops at its ends. */
  go(name: string, order: string[], by: number) {
    const to = Math.max(0, Math.min(order.length - 1, order.indexOf(this.chosen(name)) + by));
    if (order.length) this.choose(name, order[to]);
  }

  /** Toggles a switch, if this step has it. */
  turnOver(name: string) {
    const found = this.offered.switches.find((one) => one.name === name);
    if (found) this.choose(name, found.other);
  }

  destroy() {
    this.section.remove();
  }
}

/** A row of buttons of which one is chosen. */
class Row {
  choose;
  root: HTMLDivElement;
  /** whether a pointer has brought the focus here: then the arrow keys, which clickers send, are the walk's */
  isPointed: boolean;

  constructor(label: string, choose: (name: string) => void) {
    this.choose = choose;
    this.root = element("div", { class: "row", role: "radiogroup", "aria-label": label });
    this.isPointed = false;
    this.root.addEventListener("click", ({ detail }) => {
      this.isPointed = detail > 0 && this.root.contains(focused(this.root)); // 0 is a click by Space or Enter
    });
    this.root.addEventListener("focusout", ({ relatedTarget }) => {
      if (!this.root.contains(relatedTarget as Node | null)) this.isPointed = false;
    });
  }

  offer(options: Option[]) {
    this.root.hidden = !options.length;
    // Buttons that are put anew, even in their own place, lose the focus.
    const known = buttonsOf(this.root).map(({ dataset }) => dataset.name);
    if (names(options).join() === known.join()) return;
    this.root.replaceChildren(
      ...options.map(([name, label]) => {
        const made = element("button", { type: "button", role: "radio" }, label);
        made.dataset.name = name;
        made.addEventListener("click", () => this.choose(name));
        return made;
      }),
    );
  }

  /**
   * Chooses the button before or after the chosen one, as arrow keys do among radio buttons. In the row of steps the
   * arrow keys are the walk's own, which go on into the next layer.
   */
  key(event: KeyboardEvent) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    if (this.isPointed) return;
    const buttons = buttonsOf(this.root);
    const at = buttons.findIndex((one) => one.getAttribute("aria-checked") === "true");
    event.preventDefault();
    this.choose(buttons[(at + by + buttons.length) % buttons.length].dataset.name ?? "");
  }

  select(name: string) {
    const inside = this.root.contains(focused(this.root));
    for (const one of buttonsOf(this.root)) {
      const chosen = one.dataset.name === name;
      one.setAttribute("aria-checked", String(chosen));
      one.tabIndex = chosen ? 0 : -1;
      if (chosen && inside) one.focus({ preventScroll: true });
      if (chosen) reveal(this.root, one);
    }
  }
}

/** Scrolls a row, and nothing else, until one of its buttons is visible. */
function reveal(row: HTMLElement, one: HTMLElement) {
  const over = one.offsetLeft + one.offsetWidth - row.offsetLeft - row.clientWidth;
  const under = one.offsetLeft - row.offsetLeft;
  row.scrollLeft = Math.min(Math.max(row.scrollLeft, over + 24), Math.max(0, under - 24));
}

function arrow(text: string, says: string, act: () => void) {
  const made = element("button", { type: "button", class: "arrow", title: says, "aria-label": says }, text);
  made.addEventListener("click", act);
  return made;
}

const names = (options: Option[]) => options.map(([name]) => name);
const buttonsOf = (row: HTMLElement): HTMLElement[] => Array.from(row.querySelectorAll("button"));
