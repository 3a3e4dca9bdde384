// The controls of the picture: native fields, each with a sentence on its effect on the numbers.

import { turned } from "../core/dark_end.ts";
import { element, span } from "../core/dom.ts";
import { BETWEEN, betweenNote, darkenText, labelText, limitText, SPECIAL, specialNote, valuesNote } from "./words.ts";

/** what of the view was changed */
export type Change = Partial<HeadsView> & { rollout?: boolean };

const LONG = "On by itself in a long text: of ten rows, nine have no weight above it.";
const STRONGEST = [0, 1, 2, 3, 5, 10, 20, 50, 100];

/** Native options; text only. */
function options(select: HTMLElement, pairs: Option[]) {
  select.replaceChildren(...pairs.map(([value, text]) => element("option", { value }, text)));
}

const choice = (name: string, pairs: Option[]) => {
  const made = element("select", { name });
  options(made, pairs);
  return made;
};

/** Several radio buttons side by side, for a few short words. */
function segments(name: string, pairs: Option[]) {
  const made = element("span", { class: "segments", role: "radiogroup" });
  for (const [value, text] of pairs) {
    made.append(element("label", {}, element("input", { type: "radio", name, value }), span("face", text)));
  }
  return made;
}

const row = (name: string, title: string, control: HTMLElement, ...more: HTMLElement[]) => {
  const native = control.matches("select, input");
  const label = element(native ? "label" : "span", { class: "label" }, title);
  if (native) {
    control.id = `field-${name}`;
    label.setAttribute("for", control.id);
  } else control.setAttribute("aria-label", title);
  return element("div", { class: "field", dataset: { field: name } }, label, control, ...more);
};

const check = (name: string, text: string) => {
  const box = element("label", { class: "check" }, element("input", { type: "checkbox", name }), span("title", text));
  return element("div", { class: "field short", dataset: { field: name } }, box);
};

/** A sentence under a field. */
const note = () => element("p", { class: "note", hidden: true });

function say(place: HTMLElement, text: string) {
  place.textContent = text;
  place.hidden = !text;
}

/** Where the slider stands is the square root of the threshold, in hundredths: most weights are small. */
const thresholdAt = (place: number) => Math.round((place / 100) ** 2 * 1e4) / 1e4;

const titleOf = (field: HTMLElement) => field.querySelector(".title") as HTMLElement;

const NOTED = ["special", "between", "values", "stretch"] as const;
const LINES_ONLY = ["direction", "threshold", "strongest"] as const;
const SOMETIMES = ["stretch", "between", "values", "mean", "rollout"] as const;

export class Controls {
  onChange;
  threshold: HTMLInputElement;
  amount: HTMLOutputElement;
  counts: string;
  stretched: string;
  adapts: boolean;
  rows;
  notes;
  element: HTMLFormElement;
  fold: HTMLDetailsElement;

  /** `onChange(partial)` gives the part of the view that was changed. */
  constructor(root: HTMLElement, { onChange }: { onChange: (change: Change) => void }) {
    this.onChange = onChange;
    this.threshold = element("input", { type: "range", name: "threshold", min: 0, max: 100, step: 0.5 });
    this.amount = element("output", { class: "amount" });
    this.counts = "";
    this.stretched = "0"; // what a click on its field chooses
    this.adapts = false; // whether the number of lines is not the viewer's own
    this.rows = this.makeRows();
    this.notes = { special: note(), between: note(), values: note(), stretch: note() };
    for (const name of NOTED) this.rows[name].append(this.notes[name]);
    this.element = element("form", { class: "controls", "aria-label": "What is shown" }, ...Object.values(this.rows));
    this.element.addEventListener("submit", (event) => event.preventDefault());
    this.element.addEventListener("input", ({ target }) => this.changed(target as HTMLInputElement));
    this.fold = element("details", { class: "settings", open: true }, element("summary", {}, "Settings"), this.element);
    root.append(this.fold);
  }

  makeRows() {
    return {
      show: row(
        "show",
        "Show",
        segments("show", [
          ["both", "both"],
          ["lines", "lines"],
          ["heatmap", "heatmap"],
        ]),
      ),
      direction: row(
        "direction",
        "Lines",
        segments("direction", [
          ["vertical", "left to right"],
          ["horizontal", "top to bottom"],
        ]),
      ),
      threshold: row("threshold", "Threshold", this.threshold, this.amount),
      strongest: row("strongest", "Strongest", choice("strongest", [])),
      special: row("special", "Special tokens", choice("special", Object.entries(SPECIAL))),
      between: row("between", "Sentences", choice("between", Object.entries(BETWEEN))),
      values: row(
        "values",
        "Values",
        choice("values", [
          ["weights", "weights"],
          ["norms", "norm-weighted"],
        ]),
      ),
      stretch: check("stretch", ""),
      rollout: check("rollout", ""),
      mean: check("mean", ""),
    };
  }

  changed({ name, type, value, checked }: HTMLInputElement) {
    if (name === "stretch") this.onChange({ stretch: this.stretched });
    else if (type === "checkbox") this.onChange({ [name]: checked });
    else if (name === "threshold") this.onChange({ threshold: thresholdAt(Number(value)) });
    else if (name === "strongest") this.onChange({ strongest: Number(value), ...(this.adapts && { threshold: 0 }) });
    else this.onChange({ [name]: value });
  }

  /**
   * Shows the view. `given` is {view, shown, cols, pair, norms, rollout, rolled}: what there is to choose, and what is
   * chosen.
   */
  update({
    view,
    shown,
    cols,
    pair,
    norms,
    rollout,
    rolled,
  }: {
    view: HeadsView;
    cols: number;
    pair: boolean;
    norms: boolean;
    rollout: boolean;
    rolled: boolean;
    shown: Pick<ShownScene, "least" | "strongest" | "dark" | "isDarkened" | "isLong">;
  }) {
    const { rows } = this;
    const { least, strongest } = shown;
    this.adapts = strongest !== view.strongest;
    for (const name of ["show", "direction"] as const) {
      for (const radio of rows[name].querySelectorAll("input")) radio.checked = radio.value === view[name];
    }
    if (thresholdAt(Number(this.threshold.value)) !== view.threshold) {
      this.threshold.value = String(100 * Math.sqrt(view.threshold));
    }
    this.amount.textContent = `≥ ${limitText(least)}`;
    this.threshold.setAttribute("aria-valuetext", this.amount.textContent);
    this.setStrongest(strongest);
    for (const name of ["special", "between", "values"] as const) this.field(name).value = view[name];
    this.field("mean").checked = view.mean;
    this.field("rollout").checked = rolled;
    this.field("stretch").checked = shown.isDarkened;
    this.stretched = turned(view.stretch, cols);
    titleOf(rows.stretch).textContent = darkenText(shown.dark);
    titleOf(rows.mean).textContent = `mean of the ${view.chosen.length} chosen heads, instead of each`;
    titleOf(rows.rollout).textContent = `rollout up to layer ${view.layer}`;
    const there = {
      stretch: (view.values === "weights" || rolled) && shown.dark < 1,
      between: pair,
      values: norms,
      mean: view.chosen.length > 1,
      rollout: rollout || rolled,
    };
    for (const name of SOMETIMES) rows[name].hidden = !there[name];
    for (const name of LINES_ONLY) rows[name].hidden = view.show === "heatmap";
    this.field("values").disabled = rolled;
    say(this.notes.special, specialNote(view));
    say(this.notes.between, pair ? betweenNote(view) : "");
    say(
      this.notes.stretch,
      !shown.isDarkened ? "" : shown.isLong ? LONG : "The darkest colour is the largest value shown.",
    );
    say(this.notes.values, rolled ? "Rollout has no norm-weighted form." : valuesNote(view));
  }

  field(name: keyof Controls["rows"]) {
    return this.rows[name].querySelector("select, input") as HTMLInputElement;
  }

  setStrongest(wanted: number) {
    const counts = STRONGEST.includes(wanted) ? STRONGEST : [...STRONGEST, wanted].sort((a, b) => a - b);
    const select = this.field("strongest");
    if (counts.join() !== this.counts) {
      options(
        select,
        counts.map((n) => [String(n), n ? `${n} of each query` : "all"]),
      );
    }
    this.counts = counts.join();
    select.value = String(wanted);
  }
}

/** How the grid is ordered and which heads stand out. */
export class GridControls {
  sort: HTMLSelectElement;
  label: HTMLSelectElement;
  labelRow: HTMLDivElement;
  named: string;
  element: HTMLFormElement;

  constructor(root: HTMLElement, { onChange }: { onChange: (change: Change) => void }) {
    this.sort = choice("sort", []);
    this.label = choice("label", []);
    this.labelRow = row("label", "Label", this.label);
    this.named = "";
    this.element = element(
      "form",
      { class: "grid-controls", "aria-label": "The grid" },
      row("sort", "Order", this.sort),
      this.labelRow,
    );
    this.element.addEventListener("submit", (event) => event.preventDefault());
    this.element.addEventListener("input", ({ target }) => {
      const { name, value } = target as HTMLSelectElement;
      onChange({ [name]: value });
    });
    root.append(this.element);
  }

  update({ view, measures, labels }: { view: HeadsView; measures: Measure[]; labels: string[][][] }) {
    const found: Map<string, number> = new Map();
    for (const label of labels.flat(2)) found.set(label, (found.get(label) ?? 0) + 1);
    const named = JSON.stringify([measures, [...found]]);
    if (named !== this.named) {
      options(this.sort, [["", "layer and head"], ...measures.map(({ name, title }) => [name, title] as Option)]);
      options(this.label, [
        ["", "every head"],
        ...[...found].sort().map(([label, count]) => [label, `${labelText(label)} (${count})`] as Option),
      ]);
      this.named = named;
    }
    this.sort.value = view.sort;
    this.label.value = view.label;
    this.labelRow.hidden = found.size === 0;
  }
}
