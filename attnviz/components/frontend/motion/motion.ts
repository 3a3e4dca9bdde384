// Plays the step that a board shows, in the bar under it. At rest the board shows the whole picture; nothing runs. What
// computes and paints motions is fetched with the first step.

import { perFrame } from "../core/dom.ts";
import { NOTHING as NO_PIN, samePin } from "../core/pin.ts";
import { Player } from "./player.ts";
import type { Board } from "../board/board.ts";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const LONGEST = 100; // ms that one frame may move on: a page that was hidden goes on where it was
const NEAR = 1e-9;
const HINT = "Play this step: see how it is computed";

export type Shown = { header: StageHeader; example: Pair };

export class Motion {
  board;
  t = 1;
  isPlaying = false;
  last = 0; // ms
  /** what is on the board; null where it is not played */
  shown: Shown | null = null;
  made: { of: Shown; timeline: Timeline | null } | null = null;
  /** null until they are here */
  scripts: Pick<typeof import("./motions.ts"), "animationOf" | "motionAt" | "timelineOf"> | null = null;
  fetching: Promise<void> | null = null;
  player: Player;
  tick: FrameTask = perFrame(() => this.advance());

  constructor(root: HTMLElement, board: Board) {
    this.board = board;
    this.player = new Player(root, {
      onAct: (name) => this.act(name),
      onSeek: (t) => this.seek(STILL.matches && !this.isComing ? this.nearest(t) : t),
    });
    if (board.element.attnvizPicture) board.element.attnvizPicture.animation = (looks) => this.animation(looks);
  }

  /**
   * Follows what the board shows. Another step begins at its end, the whole picture.
   * @param header null where it can't be played
   */
  follow(header: StageHeader | null, pin: Pair = NO_PIN) {
    if (header?.step !== this.shown?.header.step) this.rest();
    this.shown = header && { header, example: exampleOf(header, pin) };
    if (header) void this.fetch();
    this.offer();
    if (this.t < 1) this.paint();
    else this.say();
  }

  /** Shows the bar where there is something to play, and keeps its room until that is known: one matrix is read off. */
  offer() {
    const { root } = this.player;
    root.hidden = !this.timeline && !this.mayPlay;
    root.ariaBusy = this.isComing ? "true" : null;
    this.board.element.toggleAttribute("data-plays", Boolean(this.timeline));
  }

  /** Fetches the scripts, once; where they do not come, the next step tries again. */
  async fetch() {
    this.fetching ??= import("./motions.ts").then(
      ({ animationOf, motionAt, timelineOf }) => {
        this.scripts = { animationOf, motionAt, timelineOf };
        this.offer();
        if (this.t < 1) this.seek(STILL.matches ? this.nearest(this.t) : this.t); // the slider was moved meanwhile
      },
      () => {
        this.fetching = null;
        this.rest();
        this.offer();
        this.say();
      },
    );
    await this.fetching;
  }

  get isComing() {
    return this.fetching !== null && this.scripts === null;
  }

  /** Whether the scripts that are on their way may find something to play: several matrices. */
  get mayPlay() {
    return this.isComing && this.shown !== null && this.shown.header.panels.length > 1;
  }

  setPin(pin: Pair) {
    if (!this.shown || this.t < 1) return; // the example stays while it is shown
    const example = exampleOf(this.shown.header, pin);
    if (!samePin(example, this.shown.example)) this.shown = { ...this.shown, example };
  }

  /** Made when it is first needed. */
  get timeline() {
    const { shown, scripts } = this;
    if (!shown || !scripts) return null;
    if (this.made?.of !== shown) {
      const { header, example } = shown;
      this.made = {
        of: shown,
        timeline: scripts.timelineOf({
          ...{ step: header.step, picture: header, example },
          ...{ scale: header.scale ?? 1, hidden: header.hidden ?? -Infinity, cap: header.cap },
        }),
      };
    }
    return this.made.timeline;
  }

  /** The whole picture; nothing plays. */
  rest() {
    this.isPlaying = false;
    this.tick.cancel();
    this.t = 1;
    this.board.motion = null;
  }

  /** Does what a button or a key asks for; says whether there is something to play. */
  act(name: string) {
    if (!ACTS[name]) return false;
    if (this.shown && this.mayPlay) {
      const { step } = this.shown.header;
      void this.fetch().then(() => this.shown?.header.step === step && this.act(name));
      return true;
    }
    if (!this.timeline) return false;
    ACTS[name](this);
    return true;
  }

  toggle() {
    if (STILL.matches) {
      this.go(1);
      return;
    }
    this.isPlaying = !this.isPlaying;
    this.last = 0;
    if (this.isPlaying && this.t >= 1) this.t = 0;
    if (this.isPlaying) this.tick();
    this.paint();
  }

  /** To the next still, or back to the one before; after the last it begins again. */
  go(by: 1 | -1) {
    const { stills = [] } = this.timeline ?? {};
    const { t } = this;
    const next = by > 0 ? stills.find((one) => one > t + NEAR) : stills.findLast((one) => one < t - NEAR);
    this.seek(next ?? (by > 0 ? 0 : t));
  }

  /** The still that is nearest to a moment. */
  nearest(t: number) {
    const { stills = [] } = this.timeline ?? {};
    return stills.reduce((best, one) => (Math.abs(one - t) < Math.abs(best - t) ? one : best), 1);
  }

  seek(t: number) {
    this.isPlaying = false;
    this.t = t;
    this.paint();
  }

  advance() {
    const { timeline } = this;
    if (!this.isPlaying || !timeline) return;
    const now = performance.now();
    const passed = this.last ? Math.min(LONGEST, now - this.last) : 0;
    this.last = now;
    this.t = Math.min(1, this.t + (passed * this.player.speed) / timeline.ms);
    this.isPlaying = this.t < 1;
    if (this.isPlaying) this.tick();
    this.paint();
  }

  /** Paints this moment; the end is the picture itself. */
  paint() {
    const { board, timeline, shown, scripts } = this;
    const frame = this.t < 1 && timeline && shown ? timeline.at(this.t) : null;
    const wasMoving = board.motion !== null;
    board.motion = frame && shown && scripts && scripts.motionAt(frame, shown.header);
    board.element.toggleAttribute("data-moving", Boolean(frame));
    // The inspector need not look at each frame, for no matrix moves.
    if (!board.changing) board.drawNow({ isQuiet: wasMoving && Boolean(frame) });
    this.say(frame);
  }

  say(frame: Frame | null = null) {
    this.player.show({ t: this.t, isPlaying: this.isPlaying, says: frame?.says ?? [[HINT]] });
  }

  /** The motion as pictures, for a file; null where there is none. */
  animation(looks: { theme: Theme; title: string }) {
    const { shown, timeline, board, scripts } = this;
    if (!shown || !timeline || !scripts) return null;
    return scripts.animationOf(board.element, { header: shown.header, timeline, ...looks });
  }

  destroy() {
    this.rest();
    this.shown = null; // what comes late finds nothing to play
    this.player.root.remove();
  }
}

const ACTS: Record<string, (motion: Motion) => void> = {
  play: (motion) => motion.toggle(),
  cell_on: (motion) => motion.go(1),
  cell_back: (motion) => motion.go(-1),
};

/** The cell that is computed slowly: the one that is pinned, of a pinned row the largest, else the first. */
function exampleOf({ panels, step }: StageHeader, { q, k }: Pair): Pair {
  const result = panels.find(({ name }) => name === step);
  if (q === null || k !== null || result?.cols !== "key") return { q, k };
  const [rows, columns] = result.shape;
  if (q >= rows) return { q, k };
  let largest = -1;
  for (let j = 0; j < columns; j += 1) {
    const value = result.data[q * columns + j];
    if (!Number.isNaN(value) && (largest < 0 || value > result.data[q * columns + largest])) largest = j;
  }
  return { q, k: largest < 0 ? null : largest };
}
