// The fields of the export dialog. Choices are kept while the page is open.

import { element, span } from "../core/dom.ts";

const FORMATS = { svg: "SVG", png: "PNG", pdf: "PDF", pptx: "PPTX", gif: "GIF", webm: "WebM" };
const MOTIONS = { step: "This step", walk: "The whole walk" };
type Moving = keyof typeof MOTIONS;
/** What a file in motion shows, by what is played and the format. */
const MOVES: Record<string, string> = {
  "step gif": "How this step is computed, in motion, as a 16:9 slide.",
  "step webm": "How this step is computed, as a 16:9 video.",
  "walk gif": "All steps in some 90 seconds, as a 16:9 slide. It has 4 frames a second, or its file would be huge.",
  "walk webm": "All steps in some 90 seconds, as a 16:9 video.",
};
const SLIDES = "A 16:9 slide for each picture: text and curves stay text and shapes.";
const SCALES = { 1: "1×", 2: "2×", 3: "3×", 4: "4×" };
const SHAPES = { drawn: "As drawn", wide: "16:9" };
const GROUNDS = { paper: "Paper", none: "Transparent" };
const THEMES = { light: "Light", dark: "Dark" };

const BY_SERVER = ["pdf", "pptx"];
/** the formats in motion */
const MOVING = ["gif", "webm"];

const kept: {
  format: keyof typeof FORMATS;
  scale: string;
  shape: string;
  ground: string;
  theme: Theme | null;
  moving: Moving;
  written: boolean;
  chips: boolean;
  pinned: boolean;
} = {
  format: "svg",
  scale: "2",
  shape: "drawn",
  ground: "paper",
  theme: null,
  moving: "walk",
  written: true,
  chips: false,
  pinned: true,
};

export class Fields {
  onChange;
  pictures: HTMLFieldSetElement = element("fieldset", { class: "pictures", hidden: true });
  boxes: HTMLInputElement[] = [];
  format: HTMLFieldSetElement;
  scale: HTMLFieldSetElement;
  shape: HTMLFieldSetElement;
  ground: HTMLFieldSetElement;
  theme: HTMLFieldSetElement;
  moving: HTMLFieldSetElement;
  /** what can be had in motion */
  moved: Moving[] = [];
  moves = element("p", { class: "moves", hidden: true });
  written: HTMLLabelElement;
  chips: HTMLLabelElement;
  pinned: HTMLLabelElement;
  title = element("input", { type: "text", "aria-label": "Title", maxLength: 200 });
  caption = element("textarea", { rows: 3, "aria-label": "Caption", maxLength: 2000 });
  words = element("div", { class: "words" }, this.title, this.caption);
  download = element("button", { type: "button", class: "download" });
  copy = element("button", { type: "button", class: "copy" }, "Copy picture");
  element: HTMLFormElement;

  /** `said` is where the page says what came of it. */
  constructor({
    said,
    onChange,
    onDownload,
    onCopy,
  }: {
    said: HTMLElement;
    onChange: () => void;
    onDownload: () => void;
    onCopy: () => void;
  }) {
    this.onChange = onChange;
    this.format = this.choice("Format", "format", FORMATS);
    for (const format of MOVING) this.formatLabel(format).hidden = true; // until they are offered
    this.scale = this.choice("Size", "scale", SCALES);
    this.shape = this.choice("Shape", "shape", SHAPES);
    this.ground = this.choice("Background", "ground", GROUNDS);
    this.theme = this.choice("Colours", "theme", THEMES);
    this.moving = this.choice("In motion", "moving", MOTIONS);
    this.written = this.box("written", " Title and caption");
    this.chips = this.box("chips", " Tokens above");
    this.pinned = this.box("pinned", " Arithmetic of the pinned cell");
    for (const field of [this.title, this.caption]) field.addEventListener("input", () => this.onChange());
    this.download.addEventListener("click", onDownload);
    this.copy.addEventListener("click", onCopy);
    this.element = element(
      "form",
      {},
      this.pictures,
      this.format,
      this.scale,
      this.shape,
      this.ground,
      this.theme,
      this.moving,
      this.moves,
      element("div", { class: "buttons" }, this.download, this.copy),
      said,
      this.written,
      this.chips,
      this.pinned,
      this.words,
    );
    this.element.addEventListener("submit", (event) => event.preventDefault());
  }

  /** A row of radio buttons. */
  choice(title: string, name: keyof typeof kept, options: Record<string, string>) {
    const row = element("fieldset", { class: "choice" }, element("legend", {}, title));
    for (const [value, text] of Object.entries(options)) {
      const input = element("input", { type: "radio", name, value, checked: String(kept[name]) === value });
      input.addEventListener("change", () => this.keep(name, value));
      row.append(element("label", {}, input, span("", text)));
    }
    return row;
  }

  /** A switch. */
  box(name: "written" | "chips" | "pinned", title: string) {
    const input = element("input", { type: "checkbox", checked: kept[name] });
    input.addEventListener("change", () => this.keep(name, input.checked));
    return element("label", { class: "switch" }, input, title);
  }

  keep(name: keyof typeof kept, value: string | boolean) {
    Object.assign(kept, { [name]: value });
    this.settle();
    this.onChange();
  }

  settle() {
    this.words.hidden = !kept.written;
    this.scale.hidden = kept.format !== "png"; // the others have no pixels, or those of a slide
    const isMoving = MOVING.includes(kept.format);
    const isDeck = kept.format === "pptx";
    this.ground.hidden = isMoving;
    this.shape.hidden = isMoving || isDeck;
    this.moving.hidden = !isMoving || this.moved.length < 2;
    this.moves.hidden = !isMoving && !isDeck;
    this.moves.textContent = isDeck ? SLIDES : (MOVES[`${this.playing} ${kept.format}`] ?? "");
    this.download.textContent = `Download ${FORMATS[kept.format]}`;
    const radios: NodeListOf<HTMLInputElement> = this.element.querySelectorAll("input[type=radio]");
    const choices: Record<string, unknown> = kept;
    for (const input of radios) {
      input.checked = String(choices[input.name]) === input.value;
    }
  }

  /** The words and the colours to begin with; what the user chose before stays. Only a server writes PDF and slides. */
  setWords({ title, caption, server }: { title: string; caption: string; server: ExportPaths | null }, theme: Theme) {
    kept.theme ??= theme;
    if (!server) for (const format of BY_SERVER) this.formatLabel(format)?.remove();
    if (!server && BY_SERVER.includes(kept.format)) kept.format = "svg";
    [this.title.value, this.caption.value] = [title, caption];
    this.settle();
  }

  /** Offers these pictures, all of them chosen; and tokens and the pinned cell, where there are any. */
  setPictures(names: string[], { tokens, pinned }: { tokens: boolean; pinned: boolean }) {
    [this.chips.hidden, this.pinned.hidden] = [!tokens, !pinned];
    this.boxes = names.map(() => element("input", { type: "checkbox", checked: true }));
    this.pictures.hidden = names.length < 2;
    const labels = names.map((name, n) => element("label", {}, this.boxes[n], ` ${name}`));
    this.pictures.replaceChildren(element("legend", {}, "Pictures"), ...labels);
    for (const box of this.boxes) box.addEventListener("change", () => this.onChange());
  }

  /**
   * A step that can be played can be had in motion too, and a walk.
   * @param hasVideo whether the browser can make one
   */
  offerMotion(moved: Moving[], hasVideo: boolean) {
    this.moved = moved;
    const offered = { gif: moved.length > 0, webm: moved.length > 0 && hasVideo };
    for (const [format, isThere] of Object.entries(offered)) {
      this.formatLabel(format).hidden = !isThere;
      if (!isThere && kept.format === format) kept.format = "svg";
    }
    this.settle();
  }

  formatLabel(format: string) {
    return this.format.querySelector(`[value=${format}]`)?.closest("label") as HTMLLabelElement;
  }

  /** What a file in motion shows: as it is chosen, if there is that. */
  get playing() {
    return this.moved.includes(kept.moving) ? kept.moving : this.moved[0];
  }

  get values() {
    return {
      chosen: this.boxes.map(({ checked }) => checked),
      format: kept.format,
      playing: this.playing,
      scale: Number(kept.scale),
      paper: kept.ground === "paper",
      theme: kept.theme ?? "light",
      wide: kept.shape === "wide" && kept.format !== "pptx",
      written: kept.written,
      chips: kept.chips,
      pinned: kept.pinned,
      title: this.title.value.trim(),
      caption: this.caption.value.trim(),
    };
  }

  enable(ready: boolean) {
    this.download.disabled = this.copy.disabled = !ready;
  }
}
