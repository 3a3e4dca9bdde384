// A bar that plays something, the step of a picture or a whole walk: play and pause, one back or on, the position, the
// speed, and what is shown.

import { element, span } from "../core/dom.ts";

const SPEEDS = [0.5, 1, 2, 4];
const STEPS = 1000; // of the slider
const KEYS: Record<string, string> = { k: "play", ".": "cell_on", ",": "cell_back" };

/** What a player plays. */
interface PlayerWords {
  label: string;
  play: string;
  pause: string;
  back: string;
  on: string;
  position: string;
  /** what the slider says where nothing else is said */
  whole: string;
  /** whether all that is said is read out: it changes seldom */
  isRead: boolean;
}
const OF_STEP: PlayerWords = {
  label: "How this step is computed",
  play: "Play this step (K)",
  pause: "Pause (K)",
  back: "One cell back (,)",
  on: "One cell on (.)",
  position: "Position",
  whole: "the whole picture",
  isRead: false,
};

export class Player {
  words: PlayerWords;
  speed: number;
  play: HTMLButtonElement;
  slider: HTMLInputElement;
  pace: HTMLButtonElement = button("pace", "Speed", () => {
    this.speed = SPEEDS[(SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length];
    this.pace.textContent = `${this.speed}×`;
  });
  says: HTMLParagraphElement;
  said = "";
  root: HTMLDivElement;

  constructor(
    root: HTMLElement,
    { onAct, onSeek }: { onAct: (name: string) => void; onSeek: (t: number) => void },
    words: PlayerWords = OF_STEP,
  ) {
    this.words = words;
    this.speed = 1;
    this.play = button("play", words.play, () => onAct("play"));
    const oninput = () => onSeek(Number(this.slider.value) / STEPS);
    const range = { min: 0, max: STEPS, value: STEPS, "aria-label": words.position, oninput };
    this.slider = element("input", { type: "range", ...range });
    this.pace.textContent = "1×";
    this.says = element("p", { class: "says", ...(words.isRead && { role: "status" }) });
    this.root = element(
      "div",
      { class: "player", role: "group", "aria-label": words.label, hidden: true },
      this.play,
      button("cell-back", words.back, () => onAct("cell_back")),
      button("cell-on", words.on, () => onAct("cell_on")),
      this.slider,
      this.pace,
      this.says,
    );
    // Keys that are pressed on the slider are its own, but for those of the player.
    this.root.addEventListener("keydown", (event) => {
      const act = !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key.toLowerCase()];
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      onAct(act);
    });
    root.append(this.root);
  }

  /** @param now.place what the slider says, where it is not what is said */
  show({ t, isPlaying, says, place }: { t: number; isPlaying: boolean; says: Said[]; place?: string }) {
    this.root.toggleAttribute("data-playing", isPlaying);
    this.root.dataset.t = String(t);
    const title = isPlaying ? this.words.pause : this.words.play;
    if (this.play.title !== title) {
      this.play.title = title;
      this.play.setAttribute("aria-label", title);
    }
    const value = String(Math.round(t * STEPS));
    if (this.slider.value !== value) this.slider.value = value;
    this.slider.style.setProperty("--share", `${t * 100}%`);
    const text = says.map(([one]) => one).join("");
    if (place !== undefined) this.slider.setAttribute("aria-valuetext", place);
    if (text === this.said) return;
    this.said = text;
    if (place === undefined) this.slider.setAttribute("aria-valuetext", text || this.words.whole);
    this.says.title = text;
    this.says.replaceChildren(...says.map(([one, ink = ""]) => span(ink, one)));
  }
}

const button = (className: string, title: string, onclick: () => void) =>
  element("button", { type: "button", class: className, title, "aria-label": title, onclick });
