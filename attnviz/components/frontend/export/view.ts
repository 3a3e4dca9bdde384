// The export dialog: the choice of pictures, format and theme, and a preview of the file.

import { download, element, span, theme } from "../core/dom.ts";
import { canFilm, gifOf, videoOf } from "./animation.ts";
import { Fields } from "./fields.ts";
import { makeFile, pngOf, slidesOf } from "./files.ts";
import { findPictures, findPinned } from "./find.ts";
import { ExportServer } from "./server.ts";
import { compose } from "./sheet.ts";
import { walkAnimation } from "./walk_animation.ts";
import { toCanvas } from "../pen/canvas.ts";

const PREVIEW = { width: 320, height: 140 }; // px at most
const CALM = 150; // ms: while somebody types a title, the preview waits
const WATCH = 700; // ms between two looks at the page: what it shows may change while this is open

class ExportView {
  host: Host;
  found: FoundPicture[] | null = null;
  words: ExportHeader | null = null;
  server: ExportServer | null = null;
  address = "";
  drawing = 0;
  waiting: number | undefined;
  said = element("p", { class: "said", role: "status" });
  fields = new Fields({
    said: this.said,
    onChange: () => this.later(),
    onDownload: () => this.act("download"),
    onCopy: () => this.act("copy"),
  });
  preview = element("div", { class: "preview", role: "img" });
  heading: HTMLHeadingElement = element("h2");
  none = element("p", { class: "none", hidden: true });
  section: HTMLElement = element("section", {
    class: "export-view",
    "aria-label": "Export this view",
    style: "visibility: hidden",
  });
  watch: number;

  constructor(root: HTMLElement, host: Host) {
    this.host = host;
    this.section.append(this.heading, this.none, this.preview, this.fields.element);
    // The page's own keys (steps, heads) must not act while a title is typed.
    this.section.addEventListener("keydown", (event) => event.key !== "Escape" && event.stopPropagation());
    root.append(this.section);
    this.watch = setInterval(() => this.look(), WATCH);
  }

  update(payload: Payload<ExportHeader> | null) {
    if (payload) {
      this.found = null;
      const { header } = payload;
      this.words = header;
      this.server = header.server && new ExportServer(header.server, this.host.server);
      this.heading.textContent = header.heading;
      this.heading.hidden = !header.heading;
      this.fields.setWords(header, theme(this.section));
    }
    this.look();
  }

  /**
   * Looks which pictures there are; others than before are offered anew. Of another view, the words are asked for anew.
   */
  look() {
    if (this.address && this.address !== location.href) this.host.say("moved", location.href);
    this.address = location.href;
    const found = findPictures();
    const before = this.found;
    if (found.length === before?.length && found.every(({ element: own }, n) => own === before[n].element)) return;
    this.found = found;
    this.none.textContent = this.words?.none ?? "";
    this.none.hidden = found.length > 0;
    this.fields.element.hidden = this.preview.hidden = found.length === 0;
    this.fields.setPictures(
      found.map(({ name }) => name),
      { tokens: found.some(({ picture }) => picture.tokens?.().length), pinned: Boolean(findPinned()) },
    );
    this.offerMotion();
    this.show();
  }

  /** Offers what is played in the pictures, as a video too where the browser can. */
  async offerMotion() {
    const found = this.found ?? [];
    const step = found.some(({ element: own }) => own.dataset.plays !== undefined);
    const walk = found.some(({ picture }) => picture.walk?.playing.isOffered);
    const moved = [...(step ? (["step"] as const) : []), ...(walk ? (["walk"] as const) : [])];
    this.fields.offerMotion(moved, await canFilm());
  }

  later() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.show(), CALM);
  }

  get family() {
    return getComputedStyle(this.section).fontFamily || "sans-serif";
  }

  async sheet() {
    const { chosen, pinned, ...looks } = this.fields.values;
    const some = (this.found ?? []).filter((_, n) => chosen[n]);
    return some.length ? compose(some, { ...looks, pinned: pinned ? findPinned() : "", family: this.family }) : null;
  }

  /** A sheet for each picture, as a slide holds it. */
  async slides() {
    const { chosen, pinned, ...looks } = this.fields.values;
    const says = { ...looks, pinned: pinned ? findPinned() : "", family: this.family };
    const some = (this.found ?? []).filter((_, n) => chosen[n]);
    const sheets = await Promise.all(some.map((one) => compose([one], says)));
    return sheets.filter((sheet) => sheet !== null);
  }

  async show() {
    this.drawing += 1;
    const { drawing } = this;
    const sheet = await this.sheet().catch((why) => this.say(why.message));
    if (drawing !== this.drawing) return;
    this.fields.enable(Boolean(sheet));
    this.preview.hidden = !sheet;
    if (!sheet) return;
    const { width, height } = sheet;
    const fit = Math.min(PREVIEW.width / width, PREVIEW.height / height, 1);
    const canvas = toCanvas(sheet, { scale: fit * (window.devicePixelRatio || 1), family: this.family });
    Object.assign(canvas.style, { width: `${width * fit}px`, height: `${height * fit}px` });
    this.preview.dataset.paper = String(Boolean(sheet.paper));
    this.preview.setAttribute("aria-label", `Preview of ${sheet.title}, ${width} by ${height} pixels`);
    this.preview.replaceChildren(canvas, span("size", `${width} × ${height} px`));
    this.section.dataset.ready = String(drawing);
  }

  async act(what: "copy" | "download") {
    this.fields.enable(false);
    this.say(what === "copy" ? "Copying …" : "Making the file …");
    try {
      this.say(what === "copy" ? await this.copy() : await this.download());
    } catch (why) {
      this.say((why instanceof Error && why.message) || "That did not work.");
    }
    this.fields.enable(true);
  }

  async download() {
    const { format, scale } = this.fields.values;
    const sheet = await this.sheet();
    if (!sheet || !this.words) return "There is no picture to download.";
    const { server, family } = this;
    const isMoving = format === "gif" || format === "webm";
    const blob = isMoving
      ? await this.film(format)
      : format === "pptx" && server
        ? await slidesOf(await this.slides(), { server, family })
        : await makeFile(sheet, format, { scale, server, family });
    const name = `${this.words.name}.${format}`;
    download(blob, name);
    return `${name}: ${Math.max(1, Math.round(blob.size / 1024))} kB.`;
  }

  /** What is played: the step, or its whole walk. */
  async film(format: "gif" | "webm") {
    const { theme: colours, title, caption, written, playing } = this.fields.values;
    const looks = { theme: colours, title: written ? title : "" };
    const found = (this.found ?? []).map(({ picture }) => picture);
    const walk = found.find((one) => one.walk)?.walk;
    const step = () => found.map((picture) => picture.animation?.(looks)).find(Boolean);
    const animation = playing === "walk" && walk ? await walkAnimation(walk, looks) : step();
    if (!animation) throw new Error("There is no motion to download.");
    const make = format === "gif" ? gifOf : videoOf;
    try {
      const said = (share: number) => this.say(`Making the file … ${Math.round(100 * share)} %`);
      return await make(animation, said, { title, caption });
    } finally {
      animation.destroy();
    }
  }

  /** The clipboard takes a promise, so that the click still counts when the picture is ready. */
  async copy() {
    if (!navigator.clipboard?.write || !window.ClipboardItem) {
      return "This browser copies pictures only over https or on this machine. Download the PNG instead.";
    }
    const { scale } = this.fields.values;
    const picture = this.sheet().then((sheet) => {
      if (!sheet) throw new Error("There is no picture to copy.");
      return pngOf(sheet, { scale, family: this.family });
    });
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
    } catch (why) {
      if (why instanceof Error && why.name === "NotAllowedError") {
        return "The browser did not allow it. Download the PNG instead.";
      }
      throw why;
    }
    return `Copied as a picture, ${scale}×.`;
  }

  say(text: string) {
    this.said.textContent = text;
    return null;
  }

  destroy() {
    clearTimeout(this.waiting);
    clearInterval(this.watch);
    this.section.remove();
  }
}

export default ExportView;
