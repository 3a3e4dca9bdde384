// The stepper: the steps in order with a menu of what is rarely chosen, and below them the layer and its heads. What is
// chosen is shown immediately.

import { bringIntoSight, element, focused, perFrame } from "../core/dom.ts";
import { makeMenu } from "../core/menu.ts";
import { span, template, write } from "../core/template.ts";
import { read } from "./choices.ts";
import { HeadStrip } from "./head_strip.ts";

const PLAY = "Play the walk: all steps, with the numbers of one pair (W)";

/** what there is before anything is offered */
const EMPTY: Offered = {
  ...{ steps: [], previous: null, next: null, drawings: [], layers: [], heads: [] },
  ...{ layerLabel: "", place: "", switches: [] },
};

export class Stepper {
  onChoice;
  onWalk;
  values: Record<string, string> = {}; // as a link has them: "weights", "3", "1"
  offered: Offered = EMPTY;
  steps: Row = new Row("Step", (value) => this.choose("step", value));
  drawings: Row = new Row("Drawing", (value) => this.choose("drawing", value));
  switches = element("span", { class: "switches" });
  /** what the page adds to the menu */
  others = element("span", { class: "others" });
  menu;
  strip: HeadStrip = new HeadStrip((head) => this.choose("head", String(head)));
  section: HTMLElement;

  /** `onChoice(values)` is called with what the user chooses, `onWalk()` when the walk is to play itself. */
  constructor(root: Element | ShadowRoot, onChoice: (values: Partial<WalkValues>) => void, onWalk: () => void) {
    this.onChoice = onChoice;
    this.onWalk = onWalk;
    this.drawings.root.addEventListener("keydown", (event) => this.drawings.key(event));
    this.menu = makeMenu("More", this.drawings.root, this.switches, this.others);
    const looks = { "aria-label": "Steps, layer and heads", style: "visibility: hidden" };
    this.section = element("section", { class: "stepper", ...looks });
    root.append(this.section);
    this.mark();
  }

  /**
   * Shows what there is to choose from, and what is chosen. `pictures` are the heads' thumbnails: `weights` (H, n, m)
   * and, where cells are masked, `hidden` (n, m); without them there is no choice of a head.
   */
  offer(offered: Offered, values: Record<string, string>, pictures: Arrays, shade: Theme) {
    this.offered = offered;
    this.values = values;
    this.section.dataset.theme = shade;
    this.section.classList.toggle("lecture", Boolean(offered.place));
    this.strip.root.hidden = !pictures.weights || !offered.heads.length;
    const { heads, sharedBy, layerLabel: layer, covered = null } = offered;
    const strip = { heads, sharedBy, layer, shade, covered };
    if (pictures.weights) this.strip.draw(pictures, strip);
    this.mark();
  }

  /** Lights a head of this layer that a word names. */
  name(target: Target | null) {
    const isHere = target && target.layer !== null && String(target.layer) === this.chosen("layer");
    this.strip.light(isHere ? target.head : null);
  }

  chosen(name: string) {
    return this.values[name] ?? "";
  }

  choose(name: string, value: string) {
    if (value !== this.chosen(name)) this.onChoice(read(name, value));
  }

  mark() {
    const { steps, drawings, place, previous, next, switches, plays } = this.offered;
    const focusedBefore = focused(this.section);
    this.steps.offer(steps, this.chosen("step"));
    this.drawings.offer(drawings, this.chosen("drawing"));
    write(this.switches, ...switches.map(this.turned));
    this.markMenu();
    this.strip.select(Number(this.chosen("head")));
    write(
      this.section,
      template(
        "div",
        { class: "steps" },
        template(
          "span",
          { class: "path", role: "group", "aria-label": "Steps" },
          arrow("‹", "Previous step (←)", previous && (() => this.act("previous"))),
          this.steps.root,
          arrow("›", "Next step (→)", next && (() => this.act("next"))),
        ),
        template(
          "button",
          { type: "button", class: "play-walk", title: PLAY, hidden: !plays, onclick: () => this.onWalk() },
          span("words", "Play the walk"),
        ),
        span("place", place),
        this.menu.root,
      ),
      template(
        "div",
        { class: "heads", role: "group", "aria-label": "Layer and head" },
        this.layers(),
        this.strip.root,
      ),
    );
    if (focusedBefore?.matches(".arrow:disabled")) this.focusBesideArrow();
  }

  /** An arrow that is disabled at an end gives the focus to the chosen step, or else to the other arrow. */
  focusBesideArrow() {
    const beside = this.steps.button(this.chosen("step")) ?? this.section.querySelector<HTMLElement>(".arrow:enabled");
    beside?.focus({ preventScroll: true });
  }

  /** The menu is there where it holds anything, and its button says what is on in it. */
  markMenu() {
    const { root } = this.menu;
    const { drawings, switches } = this.offered;
    root.hidden = !drawings.length && !switches.length && !this.others.childElementCount;
    const on = switches.filter(({ isOn }) => isOn).map(({ label }) => label);
    root.toggleAttribute("data-on", on.length > 0);
    const says = ["More", ...on].join(", ");
    const [button] = root.children;
    button.setAttribute("aria-label", says);
    button.setAttribute("title", says);
  }

  /** Adds what a page has to offer to the end of the menu. */
  add(...others: HTMLElement[]) {
    this.others.append(...others);
    this.markMenu();
  }

  layers() {
    const { layers, layerMarks = {}, isLed } = this.offered;
    const nameOf = (layer: number) => [`layer ${layer}`, layerMarks[layer]].filter(Boolean).join(" · ");
    const onchange = ({ target }: Event) => this.choose("layer", (target as HTMLSelectElement).value);
    const options = layers.map((layer) => template("option", { key: layer, value: String(layer) }, nameOf(layer)));
    const select = template("select", { "aria-label": "Layer", value: this.chosen("layer"), onchange }, ...options);
    return template("span", { class: "layer", hidden: !layers.length || Boolean(isLed) }, select);
  }

  turned = ({ name, label, help, isOn }: Switch) =>
    template(
      "button",
      {
        ...{ key: name, type: "button", role: "switch", class: "switch", dataset: { name } },
        ...{ title: help, "aria-checked": String(isOn), onclick: () => this.turnOver(name) },
      },
      span("knob"),
      span("label", label),
    );

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
    this.menu.destroy();
    this.section.remove();
  }
}

/** A row of buttons of which one is chosen. */
class Row {
  choose;
  root: HTMLDivElement;
  /** whether a pointer has brought the focus here: then the arrow keys, which clickers send, are the walk's */
  isPointed: boolean;
  /** what is brought into sight, among what */
  seen = "";
  /** in the next frame, when the page is laid out anyway */
  bring = perFrame(() => this.bringNow());
  sizes: ResizeObserver = new ResizeObserver(() => this.bringNow());

  constructor(label: string, choose: (name: string) => void) {
    this.choose = choose;
    this.root = element("div", { class: "row", role: "radiogroup", "aria-label": label });
    this.isPointed = false;
    this.root.addEventListener("click", ({ detail }) => {
      this.isPointed = detail > 0 && this.root.contains(focused(this.root)); // 0 is a click by Space or Enter
    });
    this.sizes.observe(this.root);
    this.root.addEventListener("focusout", ({ relatedTarget }) => {
      if (!this.root.contains(relatedTarget as Node | null)) this.isPointed = false;
    });
  }

  /** @param chosen the name of one */
  offer(options: Option[], chosen: string) {
    const isInside = this.root.contains(focused(this.root));
    this.root.hidden = !options.length;
    const buttons = options.map(([name, label]) => {
      const isChosen = name === chosen;
      const says = { role: "radio", "aria-checked": String(isChosen), tabIndex: isChosen ? 0 : -1 };
      const does = { dataset: { name }, onclick: () => this.choose(name) };
      return template("button", { key: name, type: "button", ...says, ...does }, label);
    });
    write(this.root, ...buttons);
    const shown = this.button(chosen);
    if (shown && isInside) shown.focus({ preventScroll: true });
    const now = [chosen, ...names(options)].join();
    if (now !== this.seen) this.bring();
    this.seen = now;
  }

  bringNow() {
    const chosen = buttonsOf(this.root).find((one) => one.tabIndex === 0);
    if (chosen) bringIntoSight(chosen, this.root);
  }

  button(name: string) {
    return buttonsOf(this.root).find(({ dataset }) => dataset.name === name);
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
}

/** @param act null where there is no such step */
const arrow = (text: string, says: string, act: (() => void) | null) =>
  template(
    "button",
    { type: "button", class: "arrow", title: says, "aria-label": says, disabled: !act, onclick: act ?? undefined },
    text,
  );

const names = (options: Option[]) => options.map(([name]) => name);
const buttonsOf = (row: HTMLElement): HTMLElement[] => Array.from(row.querySelectorAll("button"));
