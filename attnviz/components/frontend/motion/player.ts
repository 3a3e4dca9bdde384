// The bar under a picture that plays its step: play and pause, one cell back or on, the position, the speed, and what
// is being computed.

import { element, span } from "../core/dom.ts";

const SPEEDS = [0.5, 1, 2, 4];
const STEPS = 1000; // of the slider
const KEYS: Record<string, string> = { k: "play", ".": "cell_on", ",": "cell_back" };

export class Player {
  speed: number;
  play: HTMLButtonElement;
  slider: HTMLInputElement;
  pace: HTMLButtonElement;
  says: HTMLParagraphElement;
  said: string;
  root: HTMLDivElement;

  constructor(
    root: HTMLElement,
    {
      onAct,
      onSeek,
      onSpeed,
    }: { onAct: (name: string) => void; onSeek: (t: number) => void; onSpeed: (speed: number) => void },
  ) {
    this.speed = 1;
    this.play = button("play", "Play this step (K)", () => onAct("play"));
    this.slider = element("input", { type: "range", min: 0, max: STEPS, value: STEPS, "aria-label": "Position" });
    this.slider.addEventListener("input", () => onSeek(Number(this.slider.value) / STEPS));
    this.pace = button("pace", "Speed", () => {
      this.speed = SPEEDS[(SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length];
      this.pace.textContent = `${this.speed}×`;
      onSpeed(this.speed);
    });
    this.pace.textContent = "1×";
    this.says = element("p", { class: "says" });
    this.said = "";
    this.root = element(
      "div",
      { class: "player", role: "group", "aria-label": "How this step is computed", hidden: true },
      this.play,
      button("cell-back", "One cell back (,)", () => onAct("cell_back")),
      button("cell-on", "One cell on (.)", () => onAct("cell_on")),
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

  show({ t, isPlaying, says }: { t: number; isPlaying: boolean; says: Said[] }) {
    this.root.toggleAttribute("data-playing", isPlaying);
    this.root.dataset.t = String(t);
    const title = isPlaying ? "Pause (K)" : "Play this step (K)";
    if (this.play.title !== title) {
      this.play.title = title;
      this.play.setAttribute("aria-label", title);
    }
    const value = String(Math.round(t * STEPS));
    if (this.slider.value !== value) this.slider.value = value;
    this.slider.style.setProperty("--share", `${t * 100}%`);
    const text = says.map(([one]) => one).join("");
    if (text === this.said) return;
    this.said = text;
    this.slider.setAttribute("aria-valuetext", text || "the whole picture");
    this.says.title = text;
    this.says.replaceChildren(...says.map(([one, ink = ""]) => span(ink, one)));
  }
}

function button(className: string, title: string, act: () => void) {
  const made = element("button", { type: "button", class: className, title, "aria-label": title });
  made.addEventListener("click", act);
  return made;
}
