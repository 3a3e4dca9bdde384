// The stepper: the steps in order, and below them the layer, its heads and the drawing. Choices are shown immediately;
// the server then sends the matching data.

import { element, focused, span, theme } from "./dom.js";
import { HeadStrip } from "./head_strip.js";
import { mounting } from "./mounting.js";
import { unpack } from "./packing.js";
import { PendingUpdates } from "./pending_updates.js";

// Their values are a link's: "weights", "3", "1".
const ACT = "attnviz-act"; // the event of the page's shortcuts
const CHOICES = ["step", "layer", "head", "drawing", "predict", "stretch"];

/** @type {StepperHeader} what there is before anything was sent */
const EMPTY = {
  steps: [],
  drawings: [],
  layers: 0,
  heads: 0,
  layer_label: "",
  place: "",
  switches: [],
  chosen: {},
  acknowledged: 0,
};

class Stepper {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.updates = new PendingUpdates(
      (message) => this.setTriggerValue("updates", message),
      Object.fromEntries(CHOICES.map((name) => [name, ""])),
    );
    /** @type {SetTriggerValue} */
    this.setTriggerValue = () => {};
    /** @type {StepperHeader} */
    this.header = EMPTY;
    /** @type {Theme | null} */
    this.shade = null;
    this.previous = arrow("‹", "Previous step (←)", () => this.act("previous"));
    this.next = arrow("›", "Next step (→)", () => this.act("next"));
    this.steps = new Row("Step", (value) => this.choose("step", value));
    this.drawings = new Row("Drawing", (value) => this.choose("drawing", value));
    this.place = span("place");
    this.layer = element("select", { "aria-label": "Layer" });
    this.layer.addEventListener("change", () => this.choose("layer", this.layer.value));
    this.layerBox = span("layer", this.layer);
    this.strip = new HeadStrip((head) => this.choose("head", String(head)));
    this.switches = span("switches");
    this.section = element(
      "section",
      { "aria-label": "Steps, layer and heads", style: "visibility: hidden" },
      element("div", { class: "steps" }, this.previous, this.steps.root, this.next, this.place, this.drawings.root),
      element("div", { class: "heads" }, this.layerBox, this.strip.root, this.switches),
    );
    root.append(this.section);
    this.ends = new AbortController();
    window.addEventListener(ACT, (event) => this.asked(/** @type {CustomEvent<string>} */ (event)), {
      signal: this.ends.signal,
    });
  }

  /** @param {Uint8Array} data @param {SetTriggerValue} setTriggerValue @param {boolean} isNew */
  update(data, setTriggerValue, isNew) {
    this.setTriggerValue = setTriggerValue;
    const shade = theme(this.section);
    if (isNew || shade !== this.shade) {
      this.shade = shade;
      this.section.dataset.theme = shade;
      this.take(unpack(data), shade);
    }
  }

  /** @param {Payload<StepperHeader>} payload @param {Theme} shade */
  take({ header, arrays }, shade) {
    this.header = header;
    this.steps.offer(header.steps);
    this.drawings.offer(header.drawings);
    this.layerBox.hidden = !header.layers;
    if (this.layer.length !== header.layers) {
      const layers = Array.from({ length: header.layers }, (_, i) =>
        element("option", { value: String(i) }, `layer ${i}`),
      );
      this.layer.replaceChildren(...layers);
    }
    this.strip.root.hidden = !arrays.weights;
    if (arrays.weights) this.strip.draw(arrays, { layer: header.layer_label, shade });
    this.offerSwitches(header.switches);
    this.place.textContent = header.place;
    this.section.classList.toggle("lecture", Boolean(header.place));
    this.updates.receive(header.chosen, header.acknowledged);
    this.show();
  }

  /**
   * Those that are there already stay, and with them the focus.
   * @param {StepperHeader["switches"]} switches
   */
  offerSwitches(switches) {
    const known = new Map(buttonsOf(this.switches).map((one) => [one.dataset.name, one]));
    if (switches.map(([name]) => name).join() === [...known.keys()].join()) return;
    this.switches.replaceChildren(
      ...switches.map(([name, label, help]) => known.get(name) ?? this.makeSwitch(name, label, help)),
    );
  }

  /** @param {string} name @param {string} label @param {string} help */
  makeSwitch(name, label, help) {
    const made = element(
      "button",
      { type: "button", role: "switch", title: help, class: "switch" },
      span("knob"),
      label,
    );
    made.dataset.name = name;
    made.addEventListener("click", () => this.turnOver(name));
    return made;
  }

  /** @param {string} name @returns {string} */
  chosen(name) {
    return this.updates.values[name];
  }

  /** @param {string} name @param {string} value */
  choose(name, value) {
    if (this.updates.set({ [name]: value })) this.show();
  }

  /** Marks what is chosen. */
  show() {
    const step = this.chosen("step");
    const names = this.header.steps.map(([name]) => name);
    this.previous.disabled = step === names[0];
    this.next.disabled = step === names.at(-1);
    this.steps.select(step);
    this.drawings.select(this.chosen("drawing"));
    this.layer.value = this.chosen("layer");
    this.strip.select(Number(this.chosen("head")));
    for (const one of buttonsOf(this.switches)) {
      one.setAttribute("aria-checked", String(this.chosen(one.dataset.name ?? "") === "1"));
    }
  }

  /**
   * Handles a shortcut of the page here if possible, without a request to the server.
   * @param {CustomEvent<string>} event
   */
  asked(event) {
    if (this.act(event.detail)) event.preventDefault();
  }

  /** @param {string} name */
  act(name) {
    const { steps, drawings, layers, heads } = this.header;
    /** @type {Record<string, () => void>} */
    const acts = {
      next: () => this.go("step", names(steps), 1),
      previous: () => this.go("step", names(steps), -1),
      head_on: () => this.go("head", numbers(heads), 1),
      head_back: () => this.go("head", numbers(heads), -1),
      layer_on: () => this.go("layer", numbers(layers), 1),
      layer_back: () => this.go("layer", numbers(layers), -1),
      drawing: () =>
        this.choose("drawing", names(drawings).find((one) => one !== this.chosen("drawing")) ?? this.chosen("drawing")),
      predict: () => this.turnOver("predict"),
      stretch: () => this.turnOver("stretch"),
    };
    acts[name]?.();
    return name in acts;
  }

  /**
   * Moves forward or back in a list, and stops at its ends.
   * @param {string} name @param {string[]} order @param {number} by
   */
  go(name, order, by) {
    const to = Math.max(0, Math.min(order.length - 1, order.indexOf(this.chosen(name)) + by));
    if (order.length) this.choose(name, order[to]);
  }

  /**
   * Toggles a switch, if this step has it.
   * @param {string} name
   */
  turnOver(name) {
    if (this.header.switches.some(([one]) => one === name)) this.choose(name, this.chosen(name) === "1" ? "0" : "1");
  }

  destroy() {
    this.ends.abort();
    this.updates.destroy();
    this.section.remove();
  }
}

/** A row of buttons of which one is chosen. */
class Row {
  /** @param {string} label @param {(name: string) => void} choose */
  constructor(label, choose) {
    this.choose = choose;
    this.root = element("div", { class: "row", role: "radiogroup", "aria-label": label });
  }

  /** @param {Option[]} options */
  offer(options) {
    this.root.hidden = !options.length;
    if (this.root.childElementCount === options.length) return; // what is offered never changes but comes and goes
    this.root.replaceChildren(
      ...options.map(([name, label]) => {
        const made = element("button", { type: "button", role: "radio" }, label);
        made.dataset.name = name;
        made.addEventListener("click", () => this.choose(name));
        return made;
      }),
    );
  }

  /** @param {string} name */
  select(name) {
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

/**
 * Scrolls a row, and nothing else, until one of its buttons is visible.
 * @param {HTMLElement} row @param {HTMLElement} one
 */
function reveal(row, one) {
  const over = one.offsetLeft + one.offsetWidth - row.offsetLeft - row.clientWidth;
  const under = one.offsetLeft - row.offsetLeft;
  row.scrollLeft = Math.min(Math.max(row.scrollLeft, over + 24), Math.max(0, under - 24));
}

/** @param {string} text @param {string} says @param {() => void} act */
function arrow(text, says, act) {
  const made = element("button", { type: "button", class: "arrow", title: says, "aria-label": says }, text);
  made.addEventListener("click", act);
  return made;
}

/** @param {Option[]} options */
const names = (options) => options.map(([name]) => name);
/** @param {HTMLElement} row @returns {HTMLElement[]} */
const buttonsOf = (row) => Array.from(row.querySelectorAll("button"));
/** @param {number} count */
const numbers = (count) => Array.from({ length: count }, (_, i) => String(i));

export default mounting((root) => new Stepper(root));
