// The walk of a document in one element: steps, formula, picture, what to notice, arithmetic, code. What the user does
// is painted at once; the page that it stands in (Home in types/walk.d.ts) is notified afterwards.

import { Coming } from "./coming.js";
import { factorsOf, firstGuess, guessLine, noFocus, offered, written } from "./choices.js";
import { setTheme } from "../core/colours.js";
import { element, theme } from "../core/dom.js";
import { NOTHING, samePin } from "../core/pin.js";
import { Inspector } from "../inspector/inspector.js";
import { inspected } from "../inspector/ways.js";
import { Drawing } from "./drawing.js";
import { actOf } from "./keys.js";
import { LargestGap } from "../inspector/largest_gap.js";
import { Loading } from "./loading.js";
import { ofHead, pictureOf } from "./pictures.js";
import { Stepper } from "./stepper.js";
import { Store } from "./store.js";
import { Formula, Listing, marksOf, Notice } from "./text.js";
import { TokenList } from "./token_list.js";

const ONE_COLUMN = 760; // px: in a narrower walk nothing stands beside the picture; walk.css has the same value
const DARK = matchMedia("(prefers-color-scheme: dark)");

export class Walk {
  /** @param {Element | ShadowRoot} root @param {Home} home */
  constructor(root, home) {
    this.home = home;
    this.store = new Store();
    this.store.listener = (changed) => this.draw(changed);
    this.loading = new Loading(home);
    this.lecture = false;
    /** @type {Guide | null} */
    this.guide = null;
    /** @type {import("../inspector/inspector.js").Inspected | null} */
    this.inspected = null;
    this.formula = new Formula();
    this.notice = new Notice();
    this.listing = new Listing();
    this.tokens = new TokenList();
    this.note = element("p", { class: "note", role: "status" });
    this.top = element("div", { class: "top" });
    this.picture = element("div", { class: "picture" });
    this.guess = element("p", { class: "guess", role: "status", hidden: true });
    this.unfit = ""; // what is said of a link that asks for a matrix in vain
    this.covered = /** @type {number | null} the row that is covered */ (null);
    this.beside = element("div", { class: "beside" }, this.notice.root);
    const parts = [this.top, this.formula.root, this.guess, this.picture, this.tokens.root, this.note, this.beside];
    this.element = element("div", { class: "walk", style: "visibility: hidden" });
    this.element.append(element("div", { class: "body" }, ...parts));
    root.append(this.element);
    this.coming = new Coming(this.element, (text) => (this.note.textContent = text), home);
    this.stepper = new Stepper(this.top, (values) => this.choose(values));
    this.drawing = new Drawing(this.picture, home, {
      onCovered: (row) => this.cover(row),
      onFocus: (name) => this.choose({ focus: name ?? "" }),
    });
    this.inspector = new Inspector(this.beside, {
      onPin: ({ q, k }) => this.choose({ q, k }),
      find: () => (this.picture.hidden ? null : this.drawing.shown),
      isCramped: () => this.element.clientWidth < ONE_COLUMN || this.element.hasAttribute("data-focus"),
      onLit: (lit) => this.marks.show({ ...lit, chosen: [this.store.values.layer, this.store.values.head] }),
    });
    this.gap = new LargestGap(this.notice.root, this.inspector);
    this.marks = marksOf(this);
    this.beside.append(this.listing.root);
    this.theme = theme(this.element);
    this.setTheme();
    this.ends = new AbortController();
    this.listen(this.ends.signal);
  }

  /** Puts what leads through all documents above the steps. @param {Guide} guide */
  lead(guide) {
    this.guide = guide;
    this.top.prepend(guide.root);
  }

  /** @param {AbortSignal} signal */
  listen(signal) {
    const { keyboard = this.element } = this.home;
    keyboard?.addEventListener("keydown", (event) => this.key(/** @type {KeyboardEvent} */ (event)), { signal });
    DARK.addEventListener("change", () => this.setTheme(), { signal });
  }

  // ---- messages from the page, and to it

  /**
   * Shows what the page says: a link, another program. The page is not notified.
   * @param {Partial<WalkValues>} values @param {WalkDocument} [document] of another text or model; else that of the
   *   layer is loaded where it is not there
   */
  show(values, document) {
    if (document) this.loading.begin(document);
    this.store.set(document ? { ...values, layer: document.header.layer } : values, document);
    this.load();
  }

  /** Says that the step does not show the matrix that a link asks for. @param {Partial<WalkValues>} link */
  checkLink({ focus = "" }) {
    const { isComplete, values, step } = this.store;
    if (!isComplete || !step || values.focus === focus) return;
    this.unfit = noFocus(focus, step.title);
    this.sayGuess();
    this.report({ focus: "" });
  }

  /** What the user changes. @param {Partial<WalkValues>} values */
  choose(values) {
    this.unfit = "";
    this.report(this.store.set(values));
    this.load();
  }

  /** @param {Partial<WalkValues>} changed */
  report(changed) {
    if (Object.keys(changed).length) this.home.changed?.(changed);
  }

  /** Larger type, and no controls that an audience does not need. @param {boolean} lecture */
  setLecture(lecture) {
    this.lecture = lecture;
    this.element.toggleAttribute("data-lecture", lecture);
    this.offer();
  }

  /** Reads the theme from the page, which may have changed it. */
  setTheme() {
    this.theme = theme(this.element);
    setTheme(this.element, this.theme);
    this.drawing.setTheme(this.theme);
    this.inspector.setTheme(this.theme);
    this.offer();
  }

  // ---- painting

  /** @param {Set<string>} changed */
  draw(changed) {
    const { store } = this;
    const { document, values } = store;
    this.offer();
    if (!document || !store.isComplete) return;
    if ([...changed].every((name) => name === "q" || name === "k")) {
      this.drawing.setPin({ q: values.q, k: values.k });
      this.inspect(document);
      return;
    }
    const picture = pictureOf(document, values.step, values.head, values);
    if (picture && "needs" in picture) this.fetch(document, picture.needs);
    else this.paint(document, picture);
  }

  /** Shows what there is to choose from, and what is chosen. */
  offer() {
    const { guide } = this;
    const { document, values } = this.store;
    guide?.show(values);
    if (!document) return;
    const { thumbnails, hidden_thumbnail: hidden } = document.arrays;
    const pictures = thumbnails && !this.lecture ? { weights: thumbnails, ...(hidden && { hidden }) } : {};
    const covered = this.guessed === null ? null : { row: this.guessed, rows: document.header.query.labels.length };
    const own = offered(document, values, this);
    this.stepper.offer({ ...(guide?.offer(own, values) ?? own), covered }, pictures, this.theme);
    this.stepper.select(written(values));
  }

  /** @param {WalkDocument} document @param {(BoardPicture & { alt: string }) | null} picture */
  paint(document, picture) {
    const { header } = document;
    const { values, step } = this.store;
    if (!step) return;
    const own = header.heads.indexOf(values.head);
    const isTokens = step === header.steps[0] && !picture;
    this.picture.hidden = !picture;
    this.tokens.root.hidden = !isTokens;
    this.inspector.view.section.hidden = !picture;
    this.coming.end();
    this.formula.show(ofHead(step.formula, own));
    // A fact might give away what is covered.
    const facts = values.predict && step.can_be_covered ? [] : [step.fact, values.stretch === "1" ? "" : step.advice];
    this.notice.show(
      ofHead(step.notice, own),
      facts.map((fact) => ofHead(fact, own)),
    );
    this.gap.show(this.store.matrices, step.picture);
    this.note.textContent = step.missing;
    this.listing.show(`The same in ${isTokens ? "Python" : "PyTorch"}`, ofHead(step.code, own));
    if (isTokens) this.tokens.show(header.query, header.key);
    this.sayGuess();
    if (!picture) {
      this.drawing.motion.follow(null);
      return;
    }
    const { predict, layer, head, focus } = values;
    const place = { walk: this.store.matrices, order: header.steps.indexOf(step), step: step.name, layer, head };
    const about = { ...place, ...factorsOf(header) };
    const looks = { drawing: values.drawing, theme: this.theme, pin: { q: values.q, k: values.k } };
    this.element.toggleAttribute("data-focus", focus !== "" && this.drawing.draws(values.drawing) === "stage");
    this.drawing.take({ ...picture, ...about, predict, focus, guess: firstGuess(header), result: step.name }, looks);
    this.inspect(document);
    this.loading.later(document, head);
  }

  /** @param {number | null} row that is covered now */
  cover(row) {
    this.covered = row;
    this.sayGuess();
    this.offer(); // the thumbnails cover it too
  }

  /** The row that a class guesses now, or null. */
  get guessed() {
    const { step, values } = this.store;
    return values.predict && step?.can_be_covered && values.drawing === "stage" ? this.covered : null;
  }

  /** Says which row is covered and what to do, and what of a link is not there. */
  sayGuess() {
    const { document } = this.store;
    const label = this.guessed === null ? undefined : document?.header.query.labels[this.guessed];
    const said = [this.unfit, label === undefined ? "" : guessLine(this.covered ?? 0, label)].filter(Boolean);
    this.guess.hidden = !said.length;
    this.guess.textContent = said.join(" ");
  }

  /** @param {WalkDocument} document */
  inspect(document) {
    const { matrices, values, step } = this.store;
    if (!matrices || !step?.picture) return;
    // In a long text a picture may be there before all that its arithmetic needs.
    const lacking = matrices.missing("head_outputs");
    if (lacking.length) {
      const again = () => matrices === this.store.matrices && this.inspect(document);
      this.loading.fetch(document, lacking).then(again, (error) => this.fail("A cell can't be followed", error));
      return;
    }
    this.inspected = inspected(matrices, step.name, this.inspected);
    this.inspector.show(this.inspected, { q: values.q, k: values.k });
  }

  // ---- what is not there yet

  /** Something is on its way. @param {number} [layer] whose document it is, if it is one */
  wait(layer) {
    this.coming.begin(layer, this.store.document !== null);
  }

  /** Gets the document of the layer that is chosen, if it is another one. */
  async load() {
    if (!this.store.document || this.store.isComplete) return;
    const { layer } = this.store.values;
    this.wait(layer);
    const coming = this.loading.layer(layer);
    // It may come after another layer was chosen, or another text.
    const isWanted = () => this.store.values.layer === layer && this.loading.has(layer, coming);
    try {
      const document = await coming;
      if (isWanted()) this.report(this.store.set({}, document));
    } catch (error) {
      if (this.store.values.layer === layer) this.fail(`Layer ${layer} can't be shown`, error);
    }
  }

  /** @param {WalkDocument} document @param {string[]} names */
  async fetch(document, names) {
    this.wait();
    const { matrices } = this.store;
    const isWanted = () => this.store.matrices === matrices;
    try {
      await this.loading.fetch(document, names);
      if (isWanted()) this.draw(new Set(["document"]));
    } catch (error) {
      if (isWanted()) this.fail("This step can't be shown", error);
    }
  }

  /** @param {string} what @param {unknown} error */
  fail(what, error) {
    this.coming.end();
    const why = String(error instanceof Error ? error.message : error);
    this.note.textContent = `${what}: ${why.replace(/\.$/, "")}.`;
  }

  // ---- keys

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === "Escape") {
      this.inspector.escape(event); // also from its own fields
      return;
    }
    const act = actOf(event);
    if (!act || (!event.repeat && !this.act(act))) return;
    event.preventDefault();
  }

  /**
   * Does what a key asks for; says whether it was something to do.
   * @param {string} name
   */
  act(name) {
    const { values } = this.store;
    /** @type {Record<string, () => boolean>} */
    const acts = {
      pin: () => this.pin(),
      unpin: () => {
        const any = !samePin(values, NOTHING);
        this.inspector.unpin();
        return any;
      },
      listing: () => {
        this.listing.root.open = !this.listing.root.open;
        return true;
      },
      reveal_row: () => this.reveal("row"),
      reveal_all: () => this.reveal("all"),
    };
    return acts[name] ? acts[name]() : this.drawing.motion.act(name) || this.stepper.act(name);
  }

  /** Brings the arrow keys to the picture, and pins its first cell where none is. */
  pin() {
    if (this.picture.hidden) return false;
    this.drawing.shown?.focus();
    if (samePin(this.store.values, NOTHING)) this.inspector.setPin({ q: 0, k: 0 });
    return true;
  }

  /** @param {"row" | "all"} what */
  reveal(what) {
    if (!this.store.values.predict || !this.store.step?.can_be_covered) return false;
    this.drawing.stage.reveal(what);
    this.home.revealed?.();
    return true;
  }

  destroy() {
    this.ends.abort();
    this.coming.end();
    this.loading.destroy();
    this.marks.destroy();
    this.inspector.destroy();
    this.formula.destroy();
    this.drawing.destroy();
    this.stepper.destroy();
    this.element.remove();
  }
}
