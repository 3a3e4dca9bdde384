// What the parts of the page Train share: a section, values that the server is told, keys, and the height in a lesson.

import { perFrame } from "../core/dom.js";
import { isShortcut, pressed } from "../core/keys.js";
import { unpack } from "../core/packing.js";
import { PendingUpdates } from "../core/pending_updates.js";
import { goesOn } from "./lesson.js";

/**
 * @template {{ values: object, in_lesson: boolean, acknowledged: number }} Header
 * @template {object} Values
 */
export class Part {
  /** @param {HTMLElement} root @param {HTMLElement} section @param {Values} values to begin with */
  constructor(root, section, values) {
    /** @type {SetTriggerValue} */
    this.setTriggerValue = () => {};
    /** @type {Header | null} */
    this.header = null;
    /** @type {PendingUpdates<Values>} */
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

  /** @param {Uint8Array} data @param {SetTriggerValue} setTriggerValue @param {boolean} isNew */
  update(data, setTriggerValue, isNew) {
    this.setTriggerValue = setTriggerValue;
    if (isNew) this.take(unpack(data));
    this.draw();
  }

  /** @param {Payload<Header>} payload */
  take({ header }) {
    this.header = header;
    this.updates.receive(header.values, header.acknowledged);
    this.updates.answer();
  }

  /** @param {Partial<Values>} values @param {number} wait */
  change(values, wait = 0) {
    if (this.updates.set(values, wait)) this.draw();
  }

  /** What keys do, by their names. @returns {Record<string, () => void>} */
  acts() {
    return {};
  }

  /** @param {KeyboardEvent} event */
  key(event) {
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

/** Whether a key presses the button or the link that has the focus. @param {KeyboardEvent} event */
const isPressing = (event) =>
  ["Enter", " "].includes(event.key) &&
  event.composedPath().some((one) => one instanceof Element && one.matches("button, summary, a[href]"));
