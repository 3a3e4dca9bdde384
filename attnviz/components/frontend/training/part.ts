// What the parts of the page Train share: a section, values that the server is told, the state of what is shown, keys,
// what plays and scrubs, and the height in a lesson.

import { setTheme } from "../core/colours.ts";
import { perFrame, theme } from "../core/dom.ts";
import { isShortcut, pressed } from "../core/keys.ts";
import { PendingUpdates } from "../core/pending_updates.ts";
import { Store } from "../core/store.ts";
import { leastType } from "../core/type.ts";
import { fit, goesOn } from "./lesson.ts";
import { Scrubber } from "./transport.ts";
import type { Pace } from "./transport.ts";

export const SETTLE = 300; // ms: keys and the slider run through many things, the link needs only the last

export abstract class Part<
  Header extends { values: object; in_lesson: boolean; acknowledged: number },
  Values extends object,
  Shown extends object,
> {
  header: Header | null = null;
  updates: PendingUpdates<Values>;
  section: HTMLElement;
  store: Store<Shown>;
  scrubber: Scrubber;
  ends = new AbortController();
  resized: FrameTask;

  /** @param values to begin with, as `first` @param pace of the scrubber */
  constructor(root: HTMLElement, host: Host, section: HTMLElement, values: Values, first: Partial<Shown>, pace?: Pace) {
    this.updates = new PendingUpdates(host, values);
    this.section = section;
    root.append(section);
    Object.assign(section, { attnviz: this });
    this.store = new Store(first);
    const redraw = () => this.draw();
    this.scrubber = new Scrubber((step) => this.go(step), redraw, pace);
    const { signal } = this.ends;
    this.updates.followLeaving(signal);
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    this.resized = perFrame(redraw); // a turned phone has room for other tables
    window.addEventListener("resize", this.resized, { signal });
  }

  update(payload: Payload<Header> | null) {
    if (payload) this.take(payload);
    this.draw();
  }

  take({ header }: Payload<Header>) {
    this.header = header;
    this.updates.receive(header.values, header.acknowledged);
    this.updates.answer();
  }

  change(values: Partial<Values>, wait = 0) {
    if (this.updates.set(values, wait)) this.draw();
  }

  /** Goes to a step of what is played; null is the last. */
  abstract go(step: number | null): void;

  /** Puts what is to be shown into the store. */
  abstract show(header: Header, around: Surroundings): void;

  /** What keys do, by their names. */
  acts(): Record<string, () => void> {
    const { scrubber } = this;
    return {
      ArrowRight: () => scrubber.move(1),
      ArrowLeft: () => scrubber.move(-1),
      PageDown: () => scrubber.move(1),
      PageUp: () => scrubber.move(-1),
      k: () => scrubber.toggle(),
    };
  }

  key(event: KeyboardEvent) {
    if (!this.header || !isShortcut(event) || isPressing(event)) return;
    const act = this.acts()[pressed(event)];
    if (!act || (this.header.in_lesson && goesOn(event))) return;
    event.preventDefault();
    act();
  }

  draw() {
    const { header, section } = this;
    if (!header) return;
    fit(section, header.in_lesson);
    const shade = theme(section);
    setTheme(section, shade);
    this.show(header, { theme: shade, sizes: { width: innerWidth, height: innerHeight, leastType: leastType() } });
  }

  destroy() {
    this.ends.abort();
    this.resized.cancel();
    this.updates.destroy();
    this.scrubber.destroy();
    this.section.remove();
  }
}

/** Whether a key presses the button or the link that has the focus. */
const isPressing = (event: KeyboardEvent) =>
  ["Enter", " "].includes(event.key) &&
  event.composedPath().some((one) => one instanceof Element && one.matches("button, summary, a[href]"));
