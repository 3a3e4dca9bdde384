// How Generate is laid out: what plays the text, the text, and beneath it a panel on the chosen character.

import { element, setText } from "../core/dom.ts";
import { Scrubber, SNAPSHOTS } from "../training/transport.ts";
import { AttentionPanel } from "./attention.ts";
import { CachePanel } from "./cache.ts";
import { DrawPanel } from "./draw.ts";
import { HalfPanel } from "./half.ts";
import { LensPanel } from "./lens.ts";
import { SeedsPanel } from "./seeds.ts";
import { Text } from "./text.ts";
import type { Draws } from "./draws.ts";

export interface Given {
  header: GenerationHeader;
  draws: Draws | null;
  values: GenerationValues;
  /** the chosen draw */
  n: number;
  /** whose weights colour the text */
  head: number | null;
  /** what the shown panel compares with */
  other: Arrays | null;
  failed: string;
  theme: Theme;
}
export interface Acts {
  go: (n: number | null) => void;
  watch: (head: number | null) => void;
  show: (panel: GenerationPanel) => void;
  again: () => void;
  redraw: () => void;
}

const PANELS: [GenerationPanel, string][] = [
  ["draw", "This character"],
  ["half", "The true other half"],
  ["seeds", "Why two answers differ"],
  ["cache", "Key-value cache"],
];
const GENERATED = "The text is being generated …";
const PACE = {
  ...{ name: "Character", play: "Generate it character by character", frame: 160, longest: 60_000 },
  said: (step: number) => `character ${step}`,
};

export class View {
  scrubber: Scrubber;
  again: HTMLButtonElement;
  notice: HTMLParagraphElement;
  coming: HTMLParagraphElement;
  text: Text;
  legend: HTMLParagraphElement;
  tabs: HTMLDivElement;
  panels: HTMLDivElement;
  rooms: Record<string, HTMLElement>;
  buttons: Record<string, HTMLButtonElement>;
  draw: DrawPanel;
  attention: AttentionPanel;
  lens: LensPanel;
  half: HalfPanel;
  seeds: SeedsPanel;
  cache: CachePanel;

  constructor(root: HTMLElement, on: Acts) {
    const top = element("div", { class: "top" });
    this.scrubber = new Scrubber(top, (step) => on.go(step === null ? null : step - 1), { ...SNAPSHOTS, ...PACE });
    this.scrubber.play.addEventListener("click", on.redraw);
    this.again = element("button", { type: "button", class: "again" }, "Again: next seed");
    this.again.addEventListener("click", on.again);
    top.append(this.again);
    this.notice = element("p", { class: "trouble", role: "alert", hidden: true });
    this.coming = element("p", { class: "coming", role: "status" });
    this.text = new Text(root, (n) => on.go(n));
    this.legend = element("p", { class: "colours" });
    this.tabs = element("div", { class: "tabs", role: "group", "aria-label": "What is shown of it" });
    this.panels = element("div", { class: "panels" });
    root.append(top, this.notice, this.coming, this.text.room, this.legend, this.tabs, this.panels);
    this.rooms = {};
    this.buttons = {};
    for (const [name, title] of PANELS) {
      this.buttons[name] = element("button", { type: "button" }, title);
      this.buttons[name].addEventListener("click", () => on.show(name));
      this.rooms[name] = element("section", { class: `panel ${name}`, "aria-label": title });
      this.tabs.append(this.buttons[name]);
      this.panels.append(this.rooms[name]);
    }
    const columns = ["drawing", "attention", "lens"].map((name) => element("div", { class: name }));
    this.rooms.draw.append(...columns);
    this.draw = new DrawPanel(columns[0]);
    this.attention = new AttentionPanel(columns[1], on.watch);
    this.lens = new LensPanel(columns[2]);
    this.half = new HalfPanel(this.rooms.half);
    this.seeds = new SeedsPanel(this.rooms.seeds);
    this.cache = new CachePanel(this.rooms.cache, (n) => on.go(n));
  }

  /** Says that what is shown is another text than the one that is on its way. */
  setComing(isComing: boolean) {
    setText(this.coming, isComing ? GENERATED : "");
  }

  /** The panel that is shown: that of a half is there only where half a text was given. */
  static panelOf({ values, header }: Given) {
    return values.panel === "half" && !header.truth ? "draw" : values.panel;
  }

  update(given: Given) {
    const { header, draws, failed } = given;
    const panel = View.panelOf(given);
    this.buttons.half.hidden = !header.truth;
    for (const [name] of PANELS) {
      this.buttons[name].setAttribute("aria-pressed", String(name === panel));
      this.rooms[name].hidden = name !== panel || !draws;
    }
    this.notice.hidden = !failed;
    setText(this.notice, failed);
    this.again.disabled = header.temperature === 0;
    if (draws) this.showDraw(given, draws, panel);
    else this.text.room.textContent = failed ? "" : GENERATED;
  }

  showDraw({ header, n, head, other, theme }: Given, draws: Draws, panel: GenerationPanel) {
    const { prompt } = header;
    const draw = draws.at(n);
    this.scrubber.update(
      draws.ids.map((_, at) => at + 1),
      n + 1,
    );
    const all = draws.weights(n);
    const weights = head === null ? null : all.subarray(head * draw.context, (head + 1) * draw.context);
    this.text.show(header, draws);
    this.text.mark(n, { weights, hidesLater: this.scrubber.playing > 0 });
    this.legend.textContent = weights
      ? "Grey: the prompt. Purple: where the chosen head looks from the last character before the chosen one."
      : "Grey: the prompt. Purple: drawn, the stronger the likelier it was. Click a character.";
    if (panel === "draw") {
      this.draw.update(draw, header);
      const before = [...prompt, ...draws.ids].slice(0, prompt.length + n).slice(-draw.context);
      this.attention.update(header, all, before, head, theme);
      this.lens.update(draws.lens(n), header, draw.own.id);
    }
    if (panel === "half") this.half.update(header, draws.ids, other);
    if (panel === "seeds") this.seeds.update(header, draws, other);
    if (panel === "cache") this.cache.update(header, draws, other, n);
  }

  destroy() {
    this.scrubber.destroy();
    this.cache.destroy();
  }
}
