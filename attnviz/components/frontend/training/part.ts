// What the parts of the page Train share: a section, values that the server is told, keys, and the height in a lesson.

import { perFrame } from "../core/dom.ts";
import { isShortcut, pressed } from "../core/keys.ts";
import { readPayload } from "../core/payload.ts";
import { PendingUpdates } from "../core/pending_updates.ts";
import { goesOn } from "./lesson.ts";

export class Part<Header extends { values: object; in_lesson: boolean; acknowledged: number }, Values extends object> {
  setTriggerValue: SetTriggerValue;
  header: Header | null;
  updates: PendingUpdates<Values>;
  section: HTMLElement;
  ends: AbortController;
  resized: FrameTask;

  /** @param values to begin with */
  constructor(root: HTMLElement, section: HTMLElement, values: Values) {
    this.setTriggerValue = () => {};
    this.header = null;
    this.updates = new PendingUpdates((message) => this.setTriggerValue("updates", message), values);
    this.section = section;
    root.append(section);
    Object.assign(section, { attnviz: this });
    this.ends = new AbortController();
    const { signal } = this.ends;
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    this.resized = perFrame(() => this.draw()); // a turned phone has room for other tables
    window.addEventListener("resize", this.resized, { signal });
  }

  update(data: Uint8Array, setTriggerValue: SetTriggerValue, isNew: boolean) {
    this.setTriggerValue = setTriggerValue;
    if (isNew) this.take(readPayload(data));
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

  /** What keys do, by their names. */
  acts(): Record<string, () => void> {
    return {};
  }

  key(event: KeyboardEvent) {
    if (!this.header || !isShortcut(event) || isPressing(event)) return;
    const act = this.acts()[pressed(event)];
    if (!act || (this.header.in_lesson && goesOn(event))) return;
    event.preventDefault();
    act();
  }

  draw() {}

  destroy() {
    this.ends.abort();
    this.resized.cancel();
    this.updates.destroy();
    this.section.remove();
  }
}

/** Whether a key presses the button or the link that has the focus. */
const isPressing = (event: KeyboardEvent) =>
  ["Enter", " "].includes(event.key) &&
  event.composedPath().some((one) => one instanceof Element && one.matches("button, summary, a[href]"));
