// The controls of grid and picture: native fields, each with a sentence on its effect on the numbers. They are behind
// "Filter" and "More", which are closed at first: what is filtered is said below the picture.

import { turned } from "../core/colour_limit.ts";
import { LINK_KEYS } from "../core/constants.ts";
import { element, setText } from "../core/dom.ts";
import { span, template, write } from "../core/template.ts";
import { BETWEEN, betweenNote, darkenText, labelText, limitText, SPECIAL, specialNote, valuesNote } from "./words.ts";
import type { Child } from "../core/template.ts";

/** what of the view was changed */
export type Change = Partial<HeadsView> & { rollout?: boolean };
/** what there is to choose, and what is chosen */
export interface ControlsProps extends Pick<
  ExplorerHeader,
  "view" | "cols" | "measures" | "labels" | "norms" | "rollout"
> {
  /** a label as it is said of all heads that have it */
  labelOf: (label: string) => string;
  pair: boolean;
  rolled: boolean;
  /** whether no picture of a head is shown beside the grid */
  isOnlyGrid: boolean;
  shown: Pick<ShownScene, "least" | "strongest" | "dark" | "isDarkened" | "isLong" | "missing" | "heads">;
}

const FILTER = "Filter";
const LONG = "On by itself in a long text: of ten rows, nine have no weight above it.";
const STRONGEST = [0, 1, 2, 3, 5, 10, 20, 50, 100];
const SHOWN: Option[] = ["both", "lines", "heatmap"].map((name) => [name, name]);
const DIRECTIONS: Option[] = [
  ["vertical", "left to right"],
  ["horizontal", "top to bottom"],
];
const VALUES: Option[] = [
  ["weights", "weights"],
  ["norms", "norm-weighted"],
];

const field = (name: string, looks: string, ...parts: Child[]) =>
  template("div", { key: name, class: looks, dataset: { field: name } }, ...parts);

/** Native options, text only; then what stands below. */
function choice(name: string, title: string, pairs: Option[], value: string, { note = "", disabled = false } = {}) {
  const options = pairs.map(([one, text]) => template("option", { key: one, value: one }, text));
  const id = `field-${name}`;
  const label = template("label", { class: "label", htmlFor: id }, title);
  return field(name, "field", label, template("select", { name, id, value, disabled }, ...options), said(note));
}

/** Several radio buttons side by side, for a few short words. */
function segments(name: string, title: string, pairs: Option[], chosen: string) {
  const radios = pairs.map(([value, text]) => {
    const radio = template("input", { type: "radio", name, value, checked: value === chosen });
    return template("label", {}, radio, span("face", text));
  });
  const group = { class: "segments", role: "radiogroup", "aria-label": title };
  return field(name, "field", span("label", title), template("span", group, ...radios));
}

function check(name: string, title: string, checked: boolean, note = "") {
  const box = template("input", { type: "checkbox", name, checked });
  return field(name, "field short", template("label", { class: "check" }, box, span("title", title)), said(note));
}

/** A sentence under a field. */
const said = (text: string) => text !== "" && template("p", { class: "note" }, text);

/** Where the slider stands is the square root of the threshold, in hundredths: most weights are small. */
const thresholdAt = (place: number) => Math.round((place / 100) ** 2 * 1e4) / 1e4;

function slider(threshold: number, least: number, place: number) {
  const amount = `≥ ${limitText(least)}`;
  const value = thresholdAt(place) === threshold ? place : 100 * Math.sqrt(threshold);
  const range = { type: "range", name: "threshold", id: "field-threshold", min: 0, max: 100, step: 0.5 };
  return field(
    "threshold",
    "field",
    template("label", { class: "label", htmlFor: range.id }, "Threshold"),
    template("input", { ...range, "aria-valuetext": amount, value: String(value) }),
    template("output", { class: "amount" }, amount),
  );
}

/** A form whose fields are sent nowhere. */
function form(properties: Record<string, string>, onInput: (field: HTMLInputElement) => void) {
  const made = element("form", properties);
  made.addEventListener("submit", (event) => event.preventDefault());
  made.addEventListener("input", ({ target }) => onInput(target as HTMLInputElement));
  return made;
}

/** The button "Filter" and the fields that open below it; Esc closes it before it does anything else. */
export class Filters {
  onChange;
  /** whether the number of lines is not the viewer's own */
  adapts = false;
  button: HTMLElement = element("summary", { "aria-expanded": "false" }, FILTER);
  form: HTMLFormElement;
  element: HTMLDetailsElement;

  /** `onChange(partial)` gives the part of the view that was changed. */
  constructor({ onChange }: { onChange: (change: Change) => void }) {
    this.onChange = onChange;
    this.form = form({ class: "controls", "aria-label": "Filter" }, (one) => this.changed(one));
    this.element = element("details", { class: "filter" }, this.button, this.form);
    this.element.addEventListener("toggle", () => (this.button.ariaExpanded = String(this.element.open)));
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.element.open) return;
      event.stopPropagation();
      this.element.open = false;
      this.button.focus();
    });
  }

  changed({ name, value }: HTMLInputElement) {
    if (name === "threshold") this.onChange({ threshold: thresholdAt(Number(value)) });
    else if (name === "strongest") this.onChange({ strongest: Number(value), ...(this.adapts && { threshold: 0 }) });
    else this.onChange({ [name]: value });
  }

  /** Where the slider stands. */
  get place() {
    return Number(this.form.querySelector<HTMLInputElement>("[name=threshold]")?.value);
  }

  update({ view, shown, labels, labelOf, pair, isOnlyGrid }: ControlsProps) {
    const { least, strongest } = shown;
    this.adapts = strongest !== view.strongest;
    const hasLines = !isOnlyGrid && view.show !== "heatmap";
    const headsWith: Map<string, number> = new Map();
    for (const label of labels.flat(2)) headsWith.set(label, (headsWith.get(label) ?? 0) + 1);
    const named = [...headsWith]
      .sort()
      .map(([label, count]): Option => [label, `${labelText(labelOf(label))} (${count})`]);
    const counts = [...new Set([...STRONGEST, strongest])].sort((a, b) => a - b);
    const lines = counts.map((n): Option => [String(n), n ? `${n} of each query` : "all"]);
    const [special, between] = [SPECIAL, BETWEEN].map((words): Option[] => Object.entries(words));
    write(
      this.form,
      headsWith.size > 0 && choice("label", "Label", [["", "every head"], ...named], view.label),
      hasLines && slider(view.threshold, least, this.place),
      hasLines && choice("strongest", "Strongest", lines, String(strongest)),
      !isOnlyGrid && choice("special", "Special tokens", special, view.special, { note: specialNote(view) }),
      !isOnlyGrid && pair && choice("between", "Sentences", between, view.between, { note: betweenNote(view) }),
    );
    this.element.hidden = !this.form.childElementCount;
    const on = filtersOn(view, { pair, hasLines, isOnlyGrid });
    setText(this.button, on ? `${FILTER} · ${on} on` : FILTER);
    this.element.toggleAttribute("data-on", on > 0);
  }
}

/** How many filters the viewer has chosen, of those that are offered: they leave out what the view shows by itself. */
function filtersOn(
  { label, threshold, strongest, special, between }: HeadsView,
  { pair, hasLines, isOnlyGrid }: { pair: boolean; hasLines: boolean; isOnlyGrid: boolean },
) {
  const ofLines = [threshold !== 0 && threshold !== LINK_KEYS.threshold.default, strongest !== 0];
  const ofWeights = [special !== "keep", pair && between !== "all"];
  return [label !== "", ...(hasLines ? ofLines : []), ...(isOnlyGrid ? [] : ofWeights)].filter(Boolean).length;
}

/** What is behind "More": the order of the grid, and how the chosen heads are shown. */
export class ViewControls {
  onChange;
  /** what a click on its field chooses; null where darkening changes nothing, undefined while weights load */
  stretched: string | null | undefined;
  /** whether darkening was asked for while weights load */
  isAsked = false;
  form: HTMLFormElement;

  constructor({ onChange }: { onChange: (change: Change) => void }) {
    this.onChange = onChange;
    this.form = form({ class: "controls", "aria-label": "What is shown" }, (one) => this.changed(one));
  }

  changed({ name, type, value, checked }: HTMLInputElement) {
    if (name === "stretch") this.turnDarkening();
    else this.onChange({ [name]: type === "checkbox" ? checked : value });
  }

  /** Darkens the colours of weights, or no longer does, where that changes them: once the weights are here. */
  turnDarkening() {
    this.isAsked = this.stretched === undefined && !this.isAsked;
    if (typeof this.stretched === "string") this.onChange({ stretch: this.stretched });
  }

  /** What is asked for while weights load is done when they are here. */
  answer() {
    if (this.isAsked && this.stretched !== undefined) queueMicrotask(() => this.turnDarkening());
  }

  update({ view, shown, cols, measures, norms, rollout, rolled, isOnlyGrid }: ControlsProps) {
    const { dark, isDarkened, isLong } = shown;
    const darkens = !isOnlyGrid && (view.values === "weights" || rolled) && dark < 1;
    const isLoading = !isOnlyGrid && (shown.missing.length > 0 || !shown.heads.length);
    this.stretched = isLoading ? undefined : darkens ? turned(view.stretch, cols) : null;
    this.answer();
    const orders = measures.map(({ name, title }): Option => [name, title]);
    const darkest = isLong ? LONG : "The darkest colour is the largest value shown.";
    const ofNorms = { note: rolled ? "Rollout has no norm-weighted form." : valuesNote(view), disabled: rolled };
    const ofHeads = [
      segments("show", "Show", SHOWN, view.show),
      view.show !== "heatmap" && segments("direction", "Lines", DIRECTIONS, view.direction),
      norms && choice("values", "Values", VALUES, view.values, ofNorms),
      darkens && check("stretch", darkenText(dark), isDarkened, isDarkened ? darkest : ""),
      (rollout || rolled) && check("rollout", `rollout up to layer ${view.layer}`, rolled),
      view.chosen.length > 1 &&
        check("mean", `mean of the ${view.chosen.length} chosen heads, instead of each`, view.mean),
    ];
    const order = choice("sort", "Order", [["", "layer and head"], ...orders], view.sort);
    write(this.form, order, ...(isOnlyGrid ? [] : ofHeads));
  }
}
