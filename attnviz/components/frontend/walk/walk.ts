// The walk of a document in one element: steps, formula, picture, what to notice, arithmetic, code. What the user does
// is painted at once; the page that it stands in (Home in types/walk.d.ts) is notified afterwards.

import { Coming } from "./coming.ts";
import { noFocus, offered, written } from "./choices.ts";
import { setTheme } from "../core/colours.ts";
import { onDensity } from "../core/density.ts";
import { element, theme, typedInto } from "../core/dom.ts";
import { failureText, Refused } from "../core/files.ts";
import { GuessLine, judged } from "../core/guess_line.ts";
import { Later } from "../core/later.ts";
import { NOTHING, samePin } from "../core/pin.ts";
import type { End } from "./end.ts";
import { hiddenWord, missingGuesses } from "./guesses.ts";
import { actOf } from "./keys.ts";
import { arrayName, documentName, Loading, NOTHING_LACKING, SCRIPT } from "./loading.ts";
import { ofHead, pictureOf } from "./pictures.ts";
import { Playing } from "./playing.ts";
import { Stepper } from "./stepper.ts";
import { SENTENCE, Store } from "./store.ts";
import { Formula, Listing, marksOf, Notice } from "./text.ts";
import { TokenList } from "./token_list.ts";
import type { Lacking } from "./loading.ts";
import type { MatrixView } from "./matrix_view.ts";

const DARK = matchMedia("(prefers-color-scheme: dark)");

export class Walk {
  home: Home;
  store = new Store();
  loading: Loading;
  /** what has to come before all of the view can be painted */
  lacking: Lacking = NOTHING_LACKING;
  lecture = false;
  guide: Guide | null = null;
  formula = new Formula();
  notice = new Notice();
  hidden = element("p", { class: "hidden-word" });
  listing = new Listing();
  tokens: TokenList = new TokenList({
    pin: (q) => this.choose({ q: q === this.store.values.q ? null : q, k: null }),
    open: (q) => this.choose({ step: "weights", q, k: null }),
    dim: (dim) => this.choose({ dim }),
    hide: (row) => this.choose(row === null ? { blank_at: null } : { blank_at: row, q: row, k: null }),
  });
  note = element("p", { class: "note", role: "status" });
  /** the model's answer, and what follows the last step */
  end: Later<End>;
  top: HTMLDivElement;
  picture: HTMLDivElement;
  guessLine: GuessLine = new GuessLine(() => this.reveal("row"));
  /** a link that was opened, until its document is here */
  link: Partial<WalkValues> | null = null;
  unfit = ""; // what is said of a link that asks for a matrix in vain
  beside: HTMLDivElement;
  element = element("div", { class: "walk", style: "visibility: hidden" });
  coming: Coming;
  stepper: Stepper;
  /** null until its script is here */
  view: MatrixView | null = null;
  playing: Playing;
  marks;
  theme: Theme;
  ends = new AbortController();

  constructor(root: Element | ShadowRoot, home: Home) {
    this.home = home;
    this.store.listener = (changed) => this.draw(changed);
    this.loading = new Loading(home, () => this.load());
    const end = element("div");
    this.end = new Later(
      async () => new (await import("./end.ts")).End(end, home, (name) => this.loading.fetchJson(name)),
      () => this.sayEnd(),
    );
    [this.top, this.picture] = ["top", "picture"].map((name) => element("div", { class: name }));
    this.beside = element("div", { class: "beside" }, this.notice.root, this.hidden, end);
    const parts = [
      this.top,
      this.formula.root,
      this.guessLine.root,
      this.picture,
      this.tokens.root,
      this.note,
      this.beside,
    ];
    this.element.append(element("div", { class: "body" }, ...parts));
    root.append(this.element);
    this.coming = new Coming(this.element, (text) => (this.note.textContent = text), home);
    this.stepper = new Stepper(
      this.top,
      (values) => this.choose(values),
      () => this.act("walk"),
    );
    this.marks = marksOf(this);
    this.beside.append(this.listing.root);
    this.playing = new Playing(this);
    this.theme = theme(this.element);
    this.setTheme();
    this.listen(this.ends.signal);
  }

  /** Puts what leads through all documents above the steps. */
  lead(guide: Guide) {
    this.guide = guide;
    this.top.prepend(guide.root);
  }

  listen(signal: AbortSignal) {
    const { keyboard = this.element } = this.home;
    keyboard?.addEventListener("keydown", (event) => this.key(event as KeyboardEvent), { signal });
    document.addEventListener("keydown", (event) => this.letGo(event), { signal });
    this.playing.listen(signal);
    DARK.addEventListener("change", () => this.setTheme(), { signal });
    onDensity(() => this.offer(), signal); // the thumbnails are drawn in the screen's own pixels
  }

  // ---- messages from the page, and to it

  /**
   * Shows what the page says: a link, another program. The page is not notified.
   * @param document of another text or model; else that of the layer is loaded where it is not there
   */
  show(values: Partial<WalkValues>, document?: WalkDocument) {
    this.playing.leave();
    if (document) this.loading.begin(document);
    this.store.set(document ? { ...values, layer: document.header.layer } : values, document);
    this.load();
  }

  /** Shows another text or model once a document of it has come. */
  await(values: Partial<WalkValues>) {
    this.playing.leave();
    this.playing.isAsked = false;
    this.loading.begin();
    this.store.isAwaited = true;
    this.store.set(values);
    this.load();
  }

  /** Says, once its document is here, what a link asks for in vain; plays the walk if the link asks for it. */
  checkLink(link: Partial<WalkValues>) {
    this.link = link;
    this.sayLink();
    this.playing.isAsked = link.play === true;
    this.playing.loaded();
  }

  /** Says that the step does not show the matrix that a link asks for. */
  sayLink() {
    const { values, step } = this.store;
    if (!step || !this.link) return;
    const { focus = "" } = this.link;
    this.link = null;
    if (values.focus === focus) return;
    this.unfit = noFocus(focus, step.title);
    this.sayGuess();
    this.report({ focus: "" });
  }

  /** What the user changes. */
  choose(values: Partial<WalkValues>) {
    this.unfit = "";
    const { playing } = this;
    const unasked = playing.isAsked ? { play: false } : {}; // a link to what is chosen now does not play
    [playing.isPlaying, playing.isAsked] = [false, false];
    this.report({ ...playing.told(), ...this.store.set({ ...unasked, ...values }) });
    this.load();
    playing.follow();
  }

  report(changed: Partial<WalkValues>) {
    if (Object.keys(changed).length) this.home.changed?.(changed);
  }

  /** Larger type, and no controls that an audience does not need. */
  setLecture(lecture: boolean) {
    this.lecture = lecture;
    this.element.toggleAttribute("data-lecture", lecture);
    this.offer();
  }

  /** Reads the theme from the page, which may have changed it. */
  setTheme() {
    this.theme = theme(this.element);
    setTheme(this.element, this.theme);
    this.view?.setTheme(this.theme);
    this.offer();
  }

  // ---- painting

  draw(changed: Set<string>) {
    const { current: document, values } = this.store;
    this.offer();
    if (!document) return;
    if ([...changed].every((name) => ["q", "k", "why"].includes(name))) {
      this.view?.drawing.setPin({ q: values.q, k: values.k });
      if (this.isFirst) this.showSentence(document);
      this.sayNotice();
      this.inspect(document);
    } else {
      const picture = pictureOf(document, values.step, values.head, values);
      if (picture && "needs" in picture) this.lack(document, picture.needs, "This step can't be shown", true);
      else this.paint(document, picture);
    }
    this.lackGuesses(document);
  }

  /** Shows what there is to choose from, and what is chosen. */
  offer() {
    const { guide } = this;
    const { document, values } = this.store;
    guide?.show(values);
    if (!document) return;
    const { thumbnails, hidden_thumbnail: hidden } = document.arrays;
    const mayGiveAway = values.predict && this.store.step?.can_be_covered && !this.view;
    const isShown = !this.lecture && this.element.dataset.state !== "failed" && !mayGiveAway;
    const pictures = thumbnails && isShown ? { weights: thumbnails, ...(hidden && { hidden }) } : {};
    const covered = this.guess?.isOpen ? { row: this.guess.row, rows: document.header.query.labels.length } : null;
    const own = offered(document, values, this);
    const plays = this.playing.isOffered;
    const offers = { ...(guide?.offer(own, values) ?? own), covered, plays };
    this.stepper.offer(offers, written(values), pictures, this.theme);
  }

  paint(document: WalkDocument, picture: (BoardPicture & { alt: string }) | null) {
    const { header } = document;
    const { values, step } = this.store;
    if (!step) return;
    const own = header.heads.indexOf(values.head);
    const isTokens = this.isFirst;
    this.picture.hidden = !picture;
    if (!isTokens) this.tokens.hide();
    this.lacking = NOTHING_LACKING;
    const formula = ofHead(step.formula, own);
    this.formula.root.hidden = isTokens;
    this.formula.show(isTokens ? "" : formula);
    this.sayNotice();
    this.listing.show(`The same in ${isTokens ? "Python" : "PyTorch"}`, ofHead(step.code, own));
    if (isTokens) {
      this.tokens.show(header.query, header.key, formula);
      this.showSentence(document);
    }
    this.sayGuess();
    if (picture && !this.view) {
      this.lacking = { files: [SCRIPT], what: "This step can't be shown", isPicture: true };
      return;
    }
    this.view?.paint(document, picture);
    if (!picture) return;
    this.inspect(document);
    this.loading.later(document, values.head);
  }

  /** Pins what a word names, as the inspector does. */
  pinNamed(target: Target) {
    const pin = { q: target.row ?? this.store.values.q, k: target.column };
    if (this.view && !this.isFirst) this.view.inspector.pinNamed(target);
    else this.choose(samePin(pin, this.store.values) ? NOTHING : pin);
  }

  /** Whether the step is the sentence, which has no matrices to show. */
  get isFirst() {
    const { current, step } = this.store;
    return step !== null && step === current?.header.steps[0] && !step.picture;
  }

  showSentence(document: WalkDocument) {
    const { matrices, values } = this.store;
    if (!matrices) return;
    const { sentence } = this.tokens;
    const missing = matrices.missingOfRows;
    if (values.predict) sentence.clear("Covered while a row is guessed.");
    else if (missing.length) {
      this.lack(document, missing, "What words look at can't be shown", false);
      sentence.clear();
    } else sentence.show(matrices, values.q, values.dim, this.home);
    this.loading.later(document, values.head);
  }

  /** Says what to notice: of the numbers, what they say of the row that is pinned, if any is. */
  sayNotice() {
    const { matrices, step, values } = this.store;
    if (!matrices || !step) return;
    const own = matrices.document.header.heads.indexOf(values.head);
    // A fact might give away what is covered.
    const isSilent = values.predict && (step.can_be_covered || this.isFirst);
    const fact = this.view?.pinnedFact() ?? ofHead(step.fact, own);
    const advice = values.stretch === "1" ? "" : ofHead(step.advice, own);
    this.notice.show(ofHead(step.notice, own), isSilent ? [] : [fact, advice]);
    this.sayHidden();
    this.sayEnd();
  }

  /** Says which word is hidden from the model. The sentence has that among what can be asked for. */
  sayHidden() {
    const { hidden } = this.home;
    const said = hidden && !this.isFirst ? hiddenWord(hidden, () => this.choose({ blank_at: null })) : [];
    if (said[0] !== this.hidden.firstChild?.textContent) this.hidden.replaceChildren(...said);
  }

  /** Says at the last step what the model answers. */
  sayEnd() {
    const { current, step, values } = this.store;
    const isLast = current !== null && step === current.header.steps.at(-1);
    if (isLast) void this.end.want();
    if (current) this.end.value?.show(current.header, values.q, isLast);
  }

  /** Asks for the guesses where the step shows them and nothing else has to come first. */
  lackGuesses(document: WalkDocument) {
    const names = missingGuesses(document.header, this.store.step, this.home);
    if (!names.length || this.lacking !== NOTHING_LACKING) return;
    this.lack(document, names, "The guesses can’t be shown", false);
  }

  /** A row is covered, guessed or revealed. */
  followGuess() {
    this.sayGuess();
    this.offer(); // the thumbnails cover it too
  }

  /** The row that a class guesses, or has guessed; null where none is. */
  get guess() {
    const { step, values } = this.store;
    return values.predict && step?.can_be_covered ? (this.view?.drawing.stage.guess ?? null) : null;
  }

  /** Says which row is covered, how good the guesses were, and what of a link is not there. */
  sayGuess() {
    const { current, matrices, step } = this.store;
    const { guess, view } = this;
    const { stage } = view?.drawing ?? {};
    const isJudged = current && guess && stage;
    const said = isJudged ? judged(guess, stage.rowOf(guess.row), stage.words(guess, current.header)) : null;
    this.guessLine.show(said, [matrices, step], this.unfit);
  }

  inspect(document: WalkDocument) {
    const { matrices, step } = this.store;
    if (!matrices || !step?.picture || !this.view) return;
    // In a long text a picture may be there before all that its arithmetic needs.
    const missing = ["weights", "head_outputs"].flatMap((name) => matrices.missing(name));
    if (missing.length) {
      this.lack(document, missing, "A cell can't be followed", false);
      this.view.inspector.wait();
      return;
    }
    this.lacking = NOTHING_LACKING;
    this.view.inspect();
  }

  // ---- what is not there yet

  /** Takes note of arrays that have to come first. @param isPicture as there */
  lack({ header }: WalkDocument, names: string[], what: string, isPicture: boolean) {
    this.lacking = { files: names.map((name) => arrayName(header.layer, name)), what, isPicture };
  }

  /** Shows what has come, and asks for what the view lacks. */
  load() {
    const { store, loading } = this;
    const { isAwaited } = store;
    const { layer, step } = store.values;
    if (loading.script && !this.view) {
      this.view = new loading.script.MatrixView(this);
      if (this.playing.isOpen) this.playing.fetchMotion();
    }
    const document = store.current ? null : loading.layer(layer);
    if (document) {
      const changed = store.set({}, document);
      if (!isAwaited) this.report(changed);
      this.sayLink();
    } else if (this.lacking.files.length && store.current) this.draw(new Set(["document"]));
    if (!store.current && (store.document || store.isAwaited)) {
      const what = store.isAwaited ? "This text can't be shown" : `Layer ${layer} can't be shown`;
      const script = step === SENTENCE || this.view ? [] : [SCRIPT];
      this.lacking = { files: [documentName(layer), ...script], what, isPicture: true };
    }
    loading.files.want(this.lacking.files);
    this.sayLacking(store.current ? undefined : layer);
    this.playing.loaded();
  }

  /**
   * Says what is on its way or has not come. What is shown of another text, layer or step fades or goes.
   * @param layer whose document it is, if it is one
   */
  sayLacking(layer: number | undefined) {
    const { files, what, isPicture } = this.lacking;
    const { failure } = this.loading.files;
    const state = !files.length ? "shown" : failure ? "failed" : "coming";
    const before = this.element.dataset.state;
    this.element.dataset.state = isPicture ? state : "shown";
    if (before !== this.element.dataset.state) this.offer(); // thumbnails are of the picture's layer
    if (state === "coming") this.coming.begin(layer, files.join());
    else this.coming.end();
    if (failure) this.fail(what, failure);
    else if (state === "shown") this.note.textContent = this.store.step?.missing ?? "";
  }

  fail(what: string, error: Error) {
    const again = element("button", { type: "button", onclick: () => this.loading.files.again() }, "Try again");
    this.note.replaceChildren(`${what}: ${failureText(error)}`, ...(error instanceof Refused ? [] : [" ", again]));
  }

  // ---- keys

  key(event: KeyboardEvent) {
    if (event.key === "Escape") {
      this.view?.inspector.escape(event); // also from its own fields
      return;
    }
    const act = actOf(event);
    if (!act || (!event.repeat && !this.act(act))) return;
    event.preventDefault();
  }

  /** Escape lets go of the row of the sentence, as the inspector, once it is here, does of a cell's. */
  letGo(event: KeyboardEvent) {
    if (event.key !== "Escape" || event.defaultPrevented || typedInto(event)) return;
    if (this.view && !this.isFirst) return;
    if (this.act("unpin")) event.preventDefault();
  }

  /** Does what a key asks for; says whether it was something to do. */
  act(name: string) {
    const { values } = this.store;
    const acts: Record<string, () => boolean> = {
      pin: () => this.pin(),
      unpin: () => {
        const any = !samePin(values, NOTHING);
        if (this.view && !this.isFirst) this.view.inspector.unpin();
        else this.choose(NOTHING);
        return any;
      },
      listing: () => {
        this.listing.root.open = !this.listing.root.open;
        return true;
      },
      reveal_row: () => this.reveal("row"),
      reveal_all: () => this.reveal("all"),
      walk: () => this.playing.act("play") || this.playing.start(),
    };
    if (this.playing.act(name)) return true;
    const plays = () => !this.lacking.isPicture && this.view?.drawing.motion.act(name);
    return acts[name] ? acts[name]() : plays() || this.stepper.act(name);
  }

  /** Brings the arrow keys to the picture, and pins its first cell where none is. */
  pin() {
    if (this.picture.hidden || this.lacking.isPicture) return false;
    this.view?.pinFirst();
    return true;
  }

  reveal(what: "row" | "all") {
    if (!this.view || !this.store.values.predict || !this.store.step?.can_be_covered) return false;
    this.view.drawing.stage.reveal(what);
    this.home.revealed?.();
    return true;
  }

  destroy() {
    this.ends.abort();
    this.coming.end();
    this.loading.destroy();
    this.end.value?.destroy();
    this.marks.destroy();
    this.playing.destroy();
    this.formula.destroy();
    this.view?.destroy();
    this.tokens.destroy();
    this.stepper.destroy();
    this.element.remove();
  }
}
