// Export this view: which pictures, in which format and looks; a preview of what the file will hold.

import { element, span, theme } from "./dom.js";
import { Fields } from "./export_fields.js";
import { makeFile, pngOf } from "./export_files.js";
import { findPictures } from "./export_find.js";
import { compose } from "./export_sheet.js";
import { mounting } from "./mounting.js";
import { unpack } from "./packing.js";
import { toCanvas } from "./pen_canvas.js";

const PREVIEW = { width: 320, height: 140 }; // px at most
const CALM = 150; // ms: while somebody types a title, the preview waits
const WATCH = 700; // ms between two looks at the page: what it shows may change while this is open

class ExportView {
  constructor(root) {
    this.said = element("p", { class: "said", role: "status" });
    this.fields = new Fields({
      said: this.said,
      onChange: () => this.later(),
      onDownload: () => this.act("download"),
      onCopy: () => this.act("copy"),
    });
    this.preview = element("div", { class: "preview", role: "img" });
    this.heading = element("h3");
    this.none = element("p", { class: "none", hidden: true });
    this.section = element("section", {
      class: "export-view",
      "aria-label": "Export this view",
      style: "visibility: hidden",
    });
    this.section.append(this.heading, this.none, this.preview, this.fields.element);
    // The page's own keys (steps, heads) must not act while a title is typed.
    this.section.addEventListener("keydown", (event) => event.key !== "Escape" && event.stopPropagation());
    root.append(this.section);
    this.watch = setInterval(() => this.look(), WATCH);
  }

  update(data, setTriggerValue, isNew) {
    this.setTriggerValue = setTriggerValue;
    if (isNew) {
      this.found = null;
      this.words = unpack(data).header;
      this.heading.textContent = this.words.heading;
      this.heading.hidden = !this.words.heading;
      this.fields.setWords(this.words, theme(this.section));
    }
    this.look();
  }

  /**
   * Looks which pictures there are; others than before are offered anew. Of another view, the words are asked for anew.
   */
  look() {
    if (this.address && this.address !== location.href) this.setTriggerValue("moved", location.href);
    this.address = location.href;
    const found = findPictures();
    const same =
      found.length === this.found?.length && found.every(({ element: own }, n) => own === this.found[n].element);
    if (same) return;
    this.found = found;
    this.none.textContent = this.words.none;
    this.none.hidden = found.length > 0;
    this.fields.element.hidden = this.preview.hidden = found.length === 0;
    this.fields.setPictures(found.map(({ name }) => name));
    this.show();
  }

  later() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.show(), CALM);
  }

  get family() {
    return getComputedStyle(this.section).fontFamily || "sans-serif";
  }

  sheet() {
    const { chosen, ...looks } = this.fields.values;
    const some = this.found.filter((_, n) => chosen[n]);
    return some.length ? compose(some, { ...looks, family: this.family }) : null;
  }

  async show() {
    const drawing = (this.drawing = (this.drawing ?? 0) + 1);
    const sheet = this.found.length ? await this.sheet().catch((why) => this.say(why.message)) : null;
    if (drawing !== this.drawing) return;
    const { width, height } = sheet ?? {};
    this.fields.enable(Boolean(sheet));
    this.preview.hidden = !sheet;
    if (!sheet) return;
    const fit = Math.min(PREVIEW.width / width, PREVIEW.height / height, 1);
    const canvas = toCanvas(sheet, { scale: fit * (window.devicePixelRatio || 1), family: this.family });
    Object.assign(canvas.style, { width: `${width * fit}px`, height: `${height * fit}px` });
    this.preview.dataset.paper = String(Boolean(sheet.paper));
    this.preview.setAttribute("aria-label", `Preview of ${sheet.title}, ${width} by ${height} pixels`);
    this.preview.replaceChildren(canvas, span("size", `${width} × ${height} px`));
    this.section.dataset.ready = String(drawing);
  }

  async act(what) {
    this.fields.enable(false);
    this.say(what === "copy" ? "Copying …" : "Making the file …");
    try {
      this.say(what === "copy" ? await this.copy() : await this.download());
    } catch (why) {
      this.say(why.message || "That did not work.");
    }
    this.fields.enable(true);
  }

  async download() {
    const { format, scale } = this.fields.values;
    const blob = await makeFile(await this.sheet(), format, { scale, fonts: this.words.fonts, family: this.family });
    const link = element("a", { href: URL.createObjectURL(blob), download: `${this.words.name}.${format}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    return `${link.download}: ${Math.max(1, Math.round(blob.size / 1024))} kB.`;
  }

  /** The clipboard takes a promise, so that the click still counts when the picture is ready. */
  async copy() {
    if (!navigator.clipboard?.write || !window.ClipboardItem) {
      return "This browser copies pictures only over https or on this machine. Download the PNG instead.";
    }
    const { scale } = this.fields.values;
    const picture = Promise.resolve(this.sheet()).then((sheet) => pngOf(sheet, { scale, family: this.family }));
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
    } catch (why) {
      if (why.name === "NotAllowedError") return "The browser did not allow it. Download the PNG instead.";
      throw why;
    }
    return `Copied as a picture, ${scale}×.`;
  }

  say(text) {
    this.said.textContent = text;
    return null;
  }

  destroy() {
    clearTimeout(this.waiting);
    clearInterval(this.watch);
    this.section.remove();
  }
}

export default mounting((root) => new ExportView(root));
