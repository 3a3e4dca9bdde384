// Says that numbers are on their way, if it takes long; and, where the page knows it, how many texts come before.

import { SCRIPT } from "./loading.ts";

const SOON = 300; // ms: what comes sooner needs no word
const LONG = 1000; // ms
const COMPUTED = "The numbers are being computed …";
const DRAWN = "The picture is on its way …";

export class Coming {
  element: HTMLElement;
  say;
  home: Home;
  what = "";
  timer: number | undefined;

  /** @param element is marked as busy */
  constructor(element: HTMLElement, say: (text: string) => void, home: Home) {
    this.element = element;
    this.say = say;
    this.home = home;
  }

  /**
   * Something is on its way.
   * @param layer whose document it is, if it is one
   * @param what the names of the files
   */
  begin(layer: number | undefined, what: string) {
    if (what === this.what) return;
    this.end();
    this.what = what;
    this.element.setAttribute("aria-busy", "true");
    this.timer = setTimeout(() => {
      this.say(what === SCRIPT ? DRAWN : COMPUTED);
      if (what !== SCRIPT) this.timer = setTimeout(() => this.tell(layer), LONG - SOON);
    }, SOON);
  }

  async tell(layer: number | undefined) {
    const { timer } = this;
    let place: string | undefined;
    try {
      if (layer !== undefined) place = await this.home.place?.(layer);
    } catch {
      // Nobody knows it, then.
    }
    if (timer !== this.timer) return;
    this.say(place || COMPUTED);
    if (place) this.timer = setTimeout(() => this.tell(layer), LONG);
  }

  /** It has come, or has failed. */
  end() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.what = "";
    this.element.removeAttribute("aria-busy");
  }
}
