// What starts, stops and paces a training, and what goes through its snapshots.

import { element, setText, span } from "../core/dom.ts";
import { template } from "../core/template.ts";
import { afterSteps } from "./words.ts";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const [PLAY, NEXT, PAUSE] = ["▶ Play", "▶ Next", "❚❚ Pause"];
/** how the things on a slider are named, and how fast they are played */
export type Pace = typeof SNAPSHOTS;
export const SNAPSHOTS = {
  name: "Snapshot",
  play: "Play the training",
  next: "Next snapshot",
  said: afterSteps,
  frame: 90, // ms that one is shown while they are played
  longest: 9000, // ms that playing all of them takes at most
};
const SLOW = 120; // ms a step in slow motion

export type Possible = { can: "train" | "stop" | "continue"; isLive: boolean; hasBegun: boolean };

/** One step of a training, and slow motion. @param title of the step's button @param slow ms a step */
export const pacing = (
  isLive: boolean,
  slow: number,
  on: { step: () => void; slow: (ms: number) => void },
  title?: string,
) => [
  template("button", { type: "button", class: "one", disabled: isLive, title, onclick: on.step }, "One step"),
  template(
    "label",
    { class: "slow" },
    template("input", {
      ...{ type: "checkbox", checked: slow > 0 },
      onchange: ({ target }: Event) => on.slow((target as HTMLInputElement).checked ? SLOW : 0),
    }),
    " slow motion",
  ),
];

/** What starts, stops and paces a training. */
export function transport(
  { can, isLive, hasBegun }: Possible,
  { state, slow, why }: { state: string; slow: number; why: string },
  on: { command: (name: string) => void; slow: (ms: number) => void },
) {
  const names = { train: hasBegun ? "Train again" : "Train", stop: "Stop", continue: "Continue" };
  const look = ["main", can === "stop" && "stop", can === "train" && hasBegun && "again"].filter(Boolean).join(" ");
  const doing = (command: string) => ({ type: "button", onclick: () => on.command(command) });
  const [one, motion] = pacing(isLive, slow, { step: () => on.command("step"), slow: on.slow });
  return template(
    "div",
    { class: "transport" },
    template("button", { ...doing(can), class: look }, `${can === "stop" ? "■" : "▶"} ${names[can]}`),
    one,
    template("button", { ...doing("train"), class: "again", hidden: can !== "continue" }, "Train again"),
    template(
      "button",
      { ...doing("control"), class: "control", hidden: !hasBegun, disabled: isLive, title: why },
      "Train the control",
    ),
    motion,
    template("p", { class: "state", role: "status" }, state),
  );
}

/** The snapshots of a training on a slider, and playing through them. */
export class Scrubber {
  onStep;
  onPlay: () => void;
  pace;
  steps: number[] = [];
  at = 0;
  playing = 0; // the timer
  play = element("button", { type: "button", class: "play", onclick: () => this.toggle() });
  slider: HTMLInputElement;
  said: HTMLSpanElement = span("said");
  element: HTMLDivElement;

  /** @param onStep null stands for the newest @param onPlay playing begins, or ends */
  constructor(onStep: (step: number | null) => void, onPlay = () => {}, pace: Pace = SNAPSHOTS) {
    this.onStep = onStep;
    this.onPlay = onPlay;
    this.pace = pace;
    this.namePlay();
    this.slider = element("input", { type: "range", min: "0", step: "1", "aria-label": pace.name });
    this.slider.addEventListener("input", () => this.choose(Number(this.slider.value)));
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

  /** Under reduced motion nothing plays: the button goes on by one, after the last to the first. */
  toggle() {
    if (this.playing) this.pause();
    else if (STILL.matches) this.choose(this.at >= this.steps.length - 1 ? 0 : this.at + 1);
    else this.start();
  }

  namePlay() {
    setText(this.play, STILL.matches ? NEXT : PLAY);
    this.play.setAttribute("aria-label", STILL.matches ? this.pace.next : this.pace.play);
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
    this.onPlay();
  }

  pause() {
    if (!this.playing) return;
    clearInterval(this.playing);
    this.playing = 0;
    this.namePlay();
    this.onPlay();
  }

  destroy() {
    clearInterval(this.playing);
  }
}
