// What opens the shown snapshot's model on the other pages, once there is one.

import { element, span } from "../core/dom.ts";

const PAGES = [
  ["step_by_step", "Step by step"],
  ["heads", "Heads"],
  ["compare", "Compare"],
  ["transformer", "Transformer"],
];
const WHAT = "Open this model, as it is after this step, on ";

export class Opener {
  buttons: HTMLButtonElement[];
  writer: HTMLButtonElement;
  reason: HTMLSpanElement = span("reason");
  element: HTMLDivElement;

  /** @param writes whether the model can write a text, on the part Generate */
  constructor(root: HTMLElement, onCommand: (command: string) => void, writes = false) {
    this.buttons = PAGES.map(([page, title], n) => {
      const about = { type: "button", class: `open ${page}`, title: `${WHAT}${title}` };
      const onclick = () => onCommand(`open ${page}`);
      return element("button", { ...about, onclick }, n ? title : `Open on ${title}`);
    });
    const title = "Let this model, as it is after this step, go on with the text: the chapter Generate";
    const about = { type: "button", class: "open generate", title, hidden: !writes };
    this.writer = element("button", { ...about, onclick: () => onCommand("open generate") }, "Generate");
    this.element = element("div", { class: "opener", hidden: true }, ...this.buttons, this.writer, this.reason);
    root.append(this.element);
  }

  /** @param isPage whether there are no other pages */
  update({ state, snapshots, cannot_open: reason }: TrainingRun, isPage: boolean) {
    this.element.hidden = isPage || state === "new" || state === "queued" || !snapshots.length;
    this.element.classList.toggle("ready", state !== "running");
    for (const one of this.buttons) one.hidden = reason !== "";
    this.reason.textContent = reason;
  }
}
