// What starts, stops and paces a training, and what goes through its snapshots.

import { element, setText, span } from "../core/dom.ts";
import { afterSteps } from "./words.ts";

const [PLAY, PAUSE] = ["▶ Play", "❚❚ Pause"];
/** how the things on a slider are named, and how fast they are played */
export type Pace = typeof SNAPSHOTS;
export const SNAPSHOTS = {
  name: "Snapshot",
  play: "Play the training",
  said: afterSteps,
  frame: 90, // ms that one is shown while they are played
  longest: 9000, // ms that playing all of them takes at most
};
const SLOW = 120; // ms a step in slow motion

export type Possible = { can: "train" | "stop" | "continue"; isLive: boolean; hasBegun: boolean; canControl: boolean };

/** One step of a training, and slow motion. */
export class Pacing {
  one: HTMLButtonElement;
  slow: HTMLInputElement;
  label: HTMLLabelElement;

  constructor({ onStep, onSlow }: { onStep: () => void; onSlow: (ms: number) => void }) {
    this.one = button("one", "One step", onStep);
    this.slow = element("input", { type: "checkbox" });
    this.slow.addEventListener("change", () => onSlow(this.slow.checked ? SLOW : 0));
    this.label = element("label", { class: "slow" }, this.slow, " slow motion");
  }

  /** @param isLive whether a training goes on @param slow ms a step */
  update(isLive: boolean, slow: number) {
    this.one.disabled = isLive;
    this.slow.checked = slow > 0;
  }
}

export class Transport {
  main: HTMLButtonElement;
  again: HTMLButtonElement;
  pacing: Pacing;
  control: HTMLButtonElement;
  state: HTMLParagraphElement;

  constructor(
    root: HTMLElement,
    { onCommand, onSlow }: { onCommand: (name: string) => void; onSlow: (ms: number) => void },
  ) {
    this.main = button("main", "Train", () => onCommand(this.main.dataset.command ?? "train"));
    this.again = button("again", "Train again", () => onCommand("train"));
    this.pacing = new Pacing({ onStep: () => onCommand("step"), onSlow });
    this.control = button("control", "Train the control", () => onCommand("control"));
    this.state = element("p", { class: "state", role: "status" });
    const { one, label } = this.pacing;
    root.append(element("div", { class: "transport" }, this.main, one, this.again, this.control, label, this.state));
  }

  update(
    { can, isLive, hasBegun, canControl }: Possible,
    { state, slow, why }: { state: string; slow: number; why: string },
  ) {
    const names = { train: hasBegun ? "Train again" : "Train", stop: "Stop", continue: "Continue" };
    this.main.dataset.command = can;
    setText(this.main, `${can === "stop" ? "■" : "▶"} ${names[can]}`);
    this.main.classList.toggle("stop", can === "stop");
    this.main.classList.toggle("again", can === "train" && hasBegun);
    this.again.hidden = can !== "continue";
    this.control.hidden = !hasBegun;
    this.control.disabled = !canControl;
    this.control.title = why;
    this.pacing.update(isLive, slow);
    setText(this.state, state);
  }
}

/** The snapshots of a training on a slider, and playing through them. */
export class Scrubber {
  onStep;
  onPlay: () => void;
  pace;
  steps: number[];
  at: number;
  playing: number;
  play: HTMLButtonElement;
  slider: HTMLInputElement;
  said: HTMLSpanElement;
  element: HTMLDivElement;

  /** @param onStep null stands for the newest @param onPlay playing begins, or is ended */
  constructor(onStep: (step: number | null) => void, onPlay = () => {}, pace: Pace = SNAPSHOTS) {
    this.onStep = onStep;
    this.onPlay = onPlay;
    this.pace = pace;
    this.steps = [];
    this.at = 0;
    this.playing = 0; // the timer
    this.play = button("play", PLAY, () => this.toggle());
    this.play.setAttribute("aria-label", pace.play);
    this.slider = element("input", { type: "range", min: "0", step: "1", "aria-label": pace.name });
    this.slider.addEventListener("input", () => this.choose(Number(this.slider.value)));
    this.said = span("said");
    this.element = element("div", { class: "scrubber" }, this.play, this.slider, this.said);
  }

  /** @param step the shown one */
  update(steps: number[], step: number) {
    this.steps = steps;
    const last = Math.max(0, steps.length - 1);
    this.at = Math.max(0, steps.indexOf(step));
    if (this.slider.max !== String(last)) this.slider.max = String(last);
    if (this.slider.value !== String(this.at)) this.slider.value = String(this.at);
    this.slider.disabled = this.play.disabled = steps.length < 2;
    const text = this.pace.said(step);
    setText(this.said, text);
    this.slider.setAttribute("aria-valuetext", text);
  }

  move(by: number) {
    this.pause();
    this.choose(this.at + by);
  }

  choose(at: number) {
    const to = Math.min(Math.max(at, 0), this.steps.length - 1);
    if (to >= 0) this.onStep(to === this.steps.length - 1 ? null : this.steps[to]);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.start();
    this.onPlay();
  }

  start() {
    if (this.steps.length < 2) return;
    if (this.at >= this.steps.length - 1) this.choose(0);
    setText(this.play, PAUSE);
    this.play.setAttribute("aria-label", "Pause");
    const pace = Math.min(this.pace.frame, this.pace.longest / this.steps.length);
    this.playing = window.setInterval(() => {
      if (this.at >= this.steps.length - 1) this.pause();
      else this.choose(this.at + 1);
    }, pace);
  }

  pause() {
    clearInterval(this.playing);
    this.playing = 0;
    setText(this.play, PLAY);
    this.play.setAttribute("aria-label", this.pace.play);
  }

  destroy() {
    clearInterval(this.playing);
  }
}

function button(name: string, text: string, does: () => void) {
  const made = element("button", { type: "button", class: name }, text);
  made.addEventListener("click", does);
  return made;
}
