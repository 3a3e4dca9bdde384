// How Generate is laid out: what plays the text, the text, and beneath it a panel on the chosen character.

import { forPointer } from "../core/touch.ts";
import { element, screenReaderOnly, setText } from "../core/dom.ts";
import { template, write } from "../core/template.ts";
import { AttentionPanel } from "./attention.ts";
import { CachePanel } from "./cache.ts";
import { drawPanel } from "./draw.ts";
import { halfPanel } from "./half.ts";
import { lensPanel } from "./lens.ts";
import { seedsPanel } from "./seeds.ts";
import { Text } from "./text.ts";
import { drawnSentence } from "./words.ts";
import type { Store } from "../core/store.ts";
import type { Scrubber } from "../training/transport.ts";
import type { Draws } from "./draws.ts";

/** What is shown. */
export interface Shown extends Surroundings {
  header: GenerationHeader;
  draws: Draws | null;
  panel: GenerationPanel;
  /** the chosen draw */
  n: number;
  isPlaying: boolean;
  /** whose weights colour the text */
  head: number | null;
  /** what the shown panel compares with */
  other: Arrays | null;
  failed: string;
  /** whether another text is on its way */
  isComing: boolean;
  /** what is pointed at of the draw, or of the lens; "" for nothing */
  pointed: string;
}
interface Acts {
  choose: (n: number) => void;
  watch: (head: number | null) => void;
  show: (panel: GenerationPanel) => void;
  again: () => void;
}

const PANELS: [GenerationPanel, string][] = [
  ["draw", "This character"],
  ["half", "The true other half"],
  ["seeds", "Why two answers differ"],
  ["cache", "Key-value cache"],
];
const GENERATED = "The text is being generated …";
const BY_WEIGHT =
  "Grey: the prompt. Purple: where the chosen head looks from the last character before the chosen one.";
const BY_PROBABILITY = forPointer(
  "Grey: the prompt. Purple: drawn, the stronger the likelier it was. Click a character.",
);

export class View {
  store: Store<Shown>;
  scrubber: Scrubber;
  on: Acts;
  text: Text;
  attention: AttentionPanel;
  cache: CachePanel;
  announcement: HTMLParagraphElement = screenReaderOnly({ role: "status" });

  constructor(root: HTMLElement, store: Store<Shown>, scrubber: Scrubber, on: Acts) {
    this.store = store;
    this.scrubber = scrubber;
    this.on = on;
    this.text = new Text(on.choose);
    this.attention = new AttentionPanel(element("div", { class: "attention" }), on.watch);
    this.cache = new CachePanel(on.choose);
    store.subscribe(
      ["header", "draws", "panel", "n", "head", "other", "failed", "isComing", "pointed", "sizes"],
      (shown) => write(root, ...this.page(shown)),
    );
    store.subscribe(["header", "draws", "panel", "n", "isPlaying", "head", "failed", "theme"], (shown) =>
      this.showDraw(shown),
    );
  }

  /** The text, and the picture of the attention, which stand in elements of their own. */
  showDraw({
    header,
    draws,
    panel,
    n,
    isPlaying,
    head,
    failed,
    theme,
  }: Omit<Shown, "other" | "isComing" | "pointed" | "sizes">) {
    if (!draws) return write(this.text.room, !failed && GENERATED);
    const context = draws.one("context", n);
    const weights = draws.weights(n);
    const before = [...header.prompt, ...draws.ids].slice(0, header.prompt.length + n).slice(-context);
    this.scrubber.update(
      draws.ids.map((_, at) => at + 1),
      n + 1,
    );
    if (shownPanel(panel, header) === "draw") this.attention.update(header, weights, before, head, theme);
    const ofHead = head === null ? null : weights.subarray(head * context, (head + 1) * context);
    this.text.update(header, draws, n, ofHead, isPlaying);
    if (!isPlaying) setText(this.announcement, drawnSentence(draws.at(n), header));
  }

  page(shown: Omit<Shown, "isPlaying" | "theme">) {
    const { header, draws, head, failed, isComing } = shown;
    const panel = shownPanel(shown.panel, header);
    const again = { type: "button", class: "again", disabled: header.temperature === 0, onclick: this.on.again };
    const tabs = PANELS.map(([name, title]) => {
      const state = { hidden: name === "half" && !header.truth, "aria-pressed": name === panel };
      return template("button", { type: "button", ...state, onclick: () => this.on.show(name) }, title);
    });
    const rooms = PANELS.map(([name, title]) => {
      const parts = name === panel && draws ? this.panel(name, shown, draws) : null;
      const look = { class: `panel ${name}`, "aria-label": title, dataset: { item: name }, hidden: !parts };
      return template("section", look, ...(parts ?? []));
    });
    return [
      template("div", { class: "top" }, this.scrubber.element, template("button", again, "Again: next seed")),
      template("p", { class: "trouble", role: "alert", hidden: !failed }, failed),
      template("p", { class: "coming", role: "status" }, isComing && GENERATED),
      this.text.room,
      template("p", { class: "colours" }, draws && (head === null ? BY_PROBABILITY : BY_WEIGHT)),
      template("div", { class: "tabs", role: "group", "aria-label": "What is shown of it" }, ...tabs),
      template("div", { class: "panels" }, ...rooms),
      this.announcement,
    ];
  }

  /** What stands in a panel. */
  panel(
    name: GenerationPanel,
    { header, n, other, pointed }: Pick<Shown, "header" | "n" | "other" | "pointed">,
    draws: Draws,
  ) {
    if (name === "half") return halfPanel(header, draws.ids, other);
    if (name === "seeds") return seedsPanel(header, draws, other);
    if (name === "cache") return this.cache.parts(header, draws, other, n);
    const draw = draws.at(n);
    const pointer = (of: string): Pointer => ({
      at: pointed.startsWith(of) ? pointed.slice(of.length) : "",
      over: (at) => ({
        onpointerenter: () => this.store.set({ pointed: of + at }),
        onpointerleave: () => this.store.set({ pointed: "" }),
      }),
    });
    return [
      template("div", { class: "drawing" }, ...drawPanel(draw, header, pointer("draw "))),
      this.attention.room,
      template("div", { class: "lens" }, ...lensPanel(draws.lens(n), header, draw.own.id, pointer("lens "))),
    ];
  }

  destroy() {
    this.cache.destroy();
  }
}

/** That of a half is there only where half a text was given. */
const shownPanel = (panel: GenerationPanel, { truth }: GenerationHeader) =>
  panel === "half" && !truth ? "draw" : panel;
