// The walk that plays itself: all steps of a document on one pair, a query that looks at a key. It moves the walk's own
// picture through the motion of each step, and says a sentence of it, in the bar at the walk's bottom. What the user
// does meanwhile pauses it; another text or model ends it.

import { element, perFrame } from "../core/dom.ts";
import { isShortcut } from "../core/keys.ts";
import { Refused } from "../core/files.ts";
import { Player } from "../motion/player.ts";
import { fetchCaptions } from "./facts.ts";
import { pairOf } from "./row_words.ts";
import { arcsAt, momentAt, partAt, scheduleOf } from "./schedule.ts";
import type { Captions } from "./facts.ts";
import type { HeadMatrices } from "./matrices.ts";
import type { FullPair } from "./row_words.ts";
import type { Schedule } from "./schedule.ts";
import type { Walk } from "./walk.ts";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const LONGEST = 100; // ms that one frame may move on: a page that was hidden goes on where it was
const FOR_ITSELF = ".attnviz-board, [role=radiogroup]"; // what arrow keys go through while it has the focus
const UNSAID = "Its sentences have not come.";
const UNSHOWN = "it can’t be shown here.";
const PRESSED_BY_SPACE = "button:not([aria-checked=true], [aria-pressed=true]), a, summary";
const WORDS = {
  label: "The walk that plays itself",
  play: "Play (Space)",
  pause: "Pause (Space)",
  back: "Step back (←)",
  on: "Next step (→)",
  position: "Position in the walk",
  whole: "the whole walk",
  isRead: true,
};
/** What keys do while the bar is there. */
const KEYS: Record<string, string> = {
  " ": "play",
  ArrowRight: "next",
  PageDown: "next",
  ArrowLeft: "previous",
  PageUp: "previous",
  Escape: "unpin",
};

/** Where the walk is, to go on later. */
interface Held {
  time: number;
  isPlaying: boolean;
}

export class Playing {
  walk: Walk;
  player: Player;
  isOpen = false;
  isPlaying = false;
  /** whether it begins as soon as its first document is here */
  isAsked = false;
  /** ms */
  time = 0;
  /** ms of the clock at the last frame; 0 while nothing has been played */
  last = 0;
  /** what it has chosen and the page has not been told */
  untold: Partial<WalkValues> = {};
  planned: { steps: unknown; schedule: Schedule } | null = null;
  said: { matrices: HeadMatrices; step: string; pair: FullPair; says: Said[] } | null = null;
  /** what says the sentences, which is fetched when the walk begins; null where it has not come */
  captions: Captions | null = null;
  /** whether that failed */
  isUnsaid = false;
  /** what had the focus before */
  before: Element | null = null;
  tick: FrameTask = perFrame(() => this.advance());

  constructor(walk: Walk) {
    this.walk = walk;
    const does = { onAct: (name: string) => void this.act(name), onSeek: (t: number) => this.seek(t) };
    this.player = new Player(walk.element, does, WORDS);
    this.player.root.classList.add("of-walk");
    const close = { type: "button", class: "close", title: "Close (Esc)", "aria-label": "Close" };
    this.player.root.append(element("button", { ...close, onclick: () => this.end() }, "✕"));
    // A button that is clicked leaves Space to the walk.
    this.player.root.addEventListener(
      "mousedown",
      (event) => event.target !== this.player.slider && event.preventDefault(),
    );
    for (const { attnvizPicture } of [walk.drawing.stage.board.element, walk.tokens.sentence.words]) {
      if (attnvizPicture) attnvizPicture.walk = walk; // for Export
    }
  }

  /** Handles keys before anything else does, while the bar is there. */
  listen(signal: AbortSignal) {
    window.addEventListener("keydown", (event) => this.key(event), { signal, capture: true });
  }

  // ---- where it is

  get schedule(): Schedule {
    const steps = this.walk.store.document?.header.steps ?? [];
    if (this.planned?.steps !== steps) this.planned = { steps, schedule: scheduleOf({ steps }) };
    return this.planned.schedule;
  }

  get part() {
    return this.schedule.parts[partAt(this.schedule, this.time)];
  }

  /** The pair that it speaks of; null while the row's arithmetic is not here. */
  get pair(): FullPair | null {
    const { matrices, values } = this.walk.store;
    return matrices && !matrices.missingOfRows.length ? pairOf(matrices, values) : null;
  }

  /** Whether what the part shows has to come first. */
  get isWaiting() {
    const { lacking, store, loading, drawing } = this.walk;
    if (!store.current || !this.pair || drawing.motion.isComing) return true;
    return lacking.isPicture && !(loading.files.failure instanceof Refused); // what never comes is passed over
  }

  /** Whether no step is left to go on to. */
  get isOver() {
    const { parts, ms } = this.schedule;
    return STILL.matches ? this.part === parts.at(-1) : this.time >= ms;
  }

  // ---- what the user does

  /** Whether there is something to play: a row that is guessed must not be computed before one's eyes. */
  get isOffered() {
    return this.schedule.parts.length > 1 && !this.walk.store.values.predict;
  }

  /** Begins with the first step. */
  start() {
    if (!this.isOffered) return false;
    if (!this.isOpen) this.before = (this.walk.element.getRootNode() as Document | ShadowRoot).activeElement;
    this.open();
    this.time = 0;
    this.walk.home.plays?.();
    if (STILL.matches) this.seek(0);
    else this.play();
    const { play, root } = this.player;
    (STILL.matches ? root.querySelector<HTMLElement>(".cell-on") : play)?.focus({ preventScroll: true });
    return true;
  }

  open() {
    this.isOpen = true;
    if (!this.captions) this.fetchCaptions();
    void this.walk.drawing.motion.fetch().then(() => this.isOpen && this.sync());
    this.player.root.hidden = false;
    this.walk.element.toggleAttribute("data-plays-walk", true);
    this.walk.offer();
  }

  /** Without them the walk plays all the same, and says so. */
  async fetchCaptions() {
    try {
      this.captions = await fetchCaptions();
    } catch {
      this.isUnsaid = true; // the next start tries again
    }
    this.say();
  }

  play() {
    if (this.time >= this.schedule.ms) this.time = 0;
    this.isPlaying = true;
    this.last = 0;
    this.sync();
    this.tick();
  }

  /** Stops the clock, and tells the page what is shown. */
  pause() {
    this.isPlaying = false;
    this.tick.cancel();
    this.walk.report(this.told());
    this.say();
  }

  /** What it has chosen since it was asked last. */
  told() {
    const { untold } = this;
    this.untold = {};
    return untold;
  }

  /** The bar goes; what is shown stays. */
  end() {
    if (!this.isOpen) return;
    this.pause();
    this.leave();
    this.forget();
    const { before } = this;
    if (before instanceof HTMLElement && before.checkVisibility()) before.focus({ preventScroll: true });
  }

  /** A link to what is shown now does not play. */
  forget() {
    this.walk.report(this.walk.store.set({ play: false }));
  }

  /** The page shows something else: what was chosen here counts no more. */
  leave() {
    if (!this.isOpen) return;
    [this.isOpen, this.isPlaying, this.untold] = [false, false, {}];
    this.tick.cancel();
    this.player.root.hidden = true;
    this.walk.element.toggleAttribute("data-plays-walk", false);
    this.showWhole();
    this.walk.offer();
  }

  /** Tells the page what is shown, before it says something itself; null where the bar is not there. */
  hold(): Held | null {
    if (!this.isOpen) return null;
    const { time, isPlaying } = this;
    this.pause();
    return { time, isPlaying };
  }

  /** Goes on after `hold`. */
  resume(held: Held | null) {
    if (!held || !this.isOffered) return;
    this.open();
    this.time = held.time;
    if (held.isPlaying) this.play();
    else this.say();
  }

  /** Does what a button or a key asks for; says whether it was something to do. */
  act(name: string) {
    const acts: Record<string, () => void> = {
      play: () => this.toggle(),
      next: () => this.go(1),
      previous: () => this.go(-1),
      cell_on: () => this.go(1),
      cell_back: () => this.go(-1),
      unpin: () => this.end(),
    };
    if (!this.isOpen || !acts[name] || (name === "next" && this.isOver)) return false;
    acts[name]();
    return true;
  }

  key(event: KeyboardEvent) {
    if (!this.isOpen || !KEYS[event.key] || !this.isMine(event)) return;
    if (KEYS[event.key] === "next" && this.isOver) return; // in a lesson the key goes on to the next scene
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!event.repeat) this.act(KEYS[event.key]);
  }

  /** Whether a key is meant for the walk, and no field, button or picture answers it. */
  isMine(event: KeyboardEvent) {
    const path = event.composedPath().filter((one) => one instanceof Element);
    if (this.walk.home.keyboard === undefined && !path.includes(this.walk.element)) return false;
    if (path[0] === this.player.slider) return !event.key.startsWith("Arrow") && !event.key.startsWith("Page");
    if (!isShortcut(event)) return false;
    if (event.key === " ") {
      return path[0] === this.player.play || !path.some((one) => one.matches(PRESSED_BY_SPACE));
    }
    return event.key === "Escape" || !path.some((one) => one.matches(FOR_ITSELF));
  }

  toggle() {
    if (STILL.matches) this.go(1);
    else if (this.isPlaying) this.pause();
    else this.play();
  }

  /** To the beginning of the next step, or of the one before. */
  go(by: 1 | -1) {
    const { parts, ms } = this.schedule;
    const part = parts[partAt(this.schedule, this.time) + by];
    if (part) this.move(part.from);
    else if (by < 0) this.move(0);
    else if (!STILL.matches) this.move(ms);
  }

  /** @param t from 0 to 1 */
  seek(t: number) {
    this.move(t * this.schedule.ms);
  }

  move(time: number) {
    this.time = time;
    if (STILL.matches) this.time = this.part?.from ?? 0; // a still for each step
    this.sync();
    if (!this.isPlaying) this.walk.report(this.told());
  }

  /** The user has chosen something else in the walk, which is paused: it goes on from there. */
  follow() {
    if (!this.isOpen) return;
    const { values } = this.walk.store;
    const part = this.schedule.parts.find(({ step }) => step === values.step);
    if (!part || values.predict) {
      this.leave();
      this.forget();
      return;
    }
    this.time = part.from;
    this.showWhole();
    this.say();
  }

  // ---- what is shown

  advance() {
    if (!this.isPlaying) return;
    const now = performance.now();
    const passed = this.last ? Math.min(LONGEST, now - this.last) : 0;
    this.last = now;
    const { failure } = this.walk.loading.files;
    if (this.isWaiting && failure && !(failure instanceof Refused)) {
      this.pause(); // the note says why, and offers to try again
      return;
    }
    if (!this.isWaiting) this.time = Math.min(this.schedule.ms, this.time + passed * this.player.speed);
    this.sync();
    if (this.time >= this.schedule.ms) this.pause();
    else this.tick();
  }

  /** Shows what belongs to the time. */
  sync() {
    const { part, walk } = this;
    if (!part) return;
    const { pair } = this;
    const looks = { drawing: "stage", focus: "", predict: false };
    this.choose({ ...looks, step: part.step, ...pair });
    if (this.isWaiting) return;
    const { motion } = walk.drawing;
    const t = momentAt(part, this.time, motion.timeline?.example ?? 1);
    if (walk.isFirst) walk.tokens.sentence.grow(arcsAt(t));
    else if (motion.timeline && t !== motion.t) motion.seek(t);
    this.say();
  }

  /** Changes the view without a word to the page. */
  choose(values: Partial<WalkValues>) {
    const changed = this.walk.store.set(values);
    if (!Object.keys(changed).length) return;
    Object.assign(this.untold, changed);
    this.walk.load();
  }

  /** Ends the motion of the step: its whole picture. */
  showWhole() {
    const { drawing, tokens } = this.walk;
    tokens.sentence.grow(1);
    if (drawing.motion.t < 1) drawing.motion.seek(1);
  }

  say() {
    const { schedule, part, time } = this;
    if (!this.isOpen || !part) return;
    const n = schedule.parts.indexOf(part);
    const place = `${part.title}, step ${n + 1} of ${schedule.parts.length}`;
    const t = schedule.ms ? time / schedule.ms : 0;
    this.player.show({ t, isPlaying: this.isPlaying, says: this.caption(), place });
  }

  /** What has been waited for has come. */
  loaded() {
    if (this.isAsked && this.walk.store.current) {
      this.isAsked = false;
      this.start();
    }
    if (this.isOpen && !this.isPlaying && !this.isWaiting) this.say();
  }

  /** What is said of the step; what was said before while its numbers are on their way. */
  caption(): Said[] {
    const { matrices, step } = this.walk.store;
    const { pair, said } = this;
    const { lacking, loading } = this.walk;
    if (lacking.isPicture && loading.files.failure) return [[`${this.part.title} · `, "attention"], [UNSHOWN]];
    if (!matrices || !step || !pair || lacking.isPicture) return said?.says ?? [];
    if (!this.captions) return this.isUnsaid ? [[`${step.title} · `, "attention"], [UNSAID]] : [];
    const isSame = said?.matrices === matrices && said.step === step.name && said.pair.q === pair.q;
    if (isSame && said.pair.k === pair.k) return said.says;
    const says: Said[] = [[`${step.title} · `, "attention"], ...this.captions.captionOf(matrices, step, pair)];
    this.said = { matrices, step: step.name, pair, says };
    return says;
  }

  destroy() {
    this.tick.cancel();
    this.player.root.remove();
  }
}
