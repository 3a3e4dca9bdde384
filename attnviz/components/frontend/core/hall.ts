// What a lecturer needs beside the pictures: a black screen, the full screen, and how long the lecture lasts.

import { element } from "./dom.ts";
import { keep, kept } from "./storage.ts";

const BEGUN = "attnviz-lecture-begun"; // where the tab keeps it, over a change of page
const SHOWN = "attnviz-timer-shown";
const SECOND = 1000;

export class Hall {
  black = element("div", { class: "black", hidden: true, role: "img", "aria-label": "Black screen" });
  timer = element("time", { class: "timer", role: "timer", hidden: true });
  ends = new AbortController();
  ticking: number;

  constructor(root: Element | ShadowRoot) {
    root.append(this.black, this.timer);
    const { signal } = this.ends;
    this.black.addEventListener("click", () => this.blacken(false), { signal });
    // Any key brings the picture back, and does nothing else.
    window.addEventListener("keydown", (event) => this.wake(event), { signal, capture: true });
    this.ticking = setInterval(() => this.tick(), SECOND);
  }

  /** What a key asks for, by its name. */
  get acts(): Record<string, () => void> {
    return {
      black: () => this.blacken(true),
      fullscreen: () => void fullScreen(),
      timer: () => this.showTimer(kept(SHOWN) !== "1"),
    };
  }

  /** @param on whether there is a lecture now; the time counts from when the first began */
  set(on: boolean) {
    if (on && !kept(BEGUN)) keep(BEGUN, String(Date.now()));
    if (!on) {
      for (const name of [BEGUN, SHOWN]) keep(name, "");
      this.blacken(false);
    }
    this.tick();
  }

  blacken(black: boolean) {
    this.black.hidden = !black;
  }

  wake(event: KeyboardEvent) {
    if (this.black.hidden) return;
    this.blacken(false);
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  showTimer(shown: boolean) {
    keep(SHOWN, shown ? "1" : "");
    this.tick();
  }

  tick() {
    this.timer.hidden = kept(SHOWN) !== "1";
    const passed = Math.max(0, Date.now() - (Number(kept(BEGUN)) || Date.now()));
    this.timer.textContent = minutes(Math.floor(passed / SECOND));
  }

  destroy() {
    this.ends.abort();
    clearInterval(this.ticking);
    this.black.remove();
    this.timer.remove();
  }
}

/** 65 -> "1:05". */
export const minutes = (seconds: number) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;

/** Into the full screen or out of it, where the browser lets a page do so. */
async function fullScreen() {
  try {
    await (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen());
  } catch {
    // It may not: the browser's own key does it.
  }
}
