// The rows of a board's matrices as lists that only screen readers find, beside the board. They are written while the
// browser is idle, once the picture has been the same for a moment, so that stepping, pointing and playing never wait.

import { element, UNSEEN } from "../core/dom.ts";
import { rowsText } from "./panel.ts";

const CALM = 800; // ms
const SLICE = 4; // ms of writing in one go
const STYLE = `${UNSEEN}; margin-top: -1px; contain: strict`; // it must not make the room of the board scroll

interface Given {
  panels: Panel[];
  labels: Labels;
  covers: ((panel: string) => IsCovered | null) | null;
}

export class RowsList {
  root = element("div", { class: "attnviz-rows", role: "group", "aria-label": "Rows in words", style: STYLE });
  read: () => Given;
  timer: ReturnType<typeof setTimeout> | undefined;
  idle = 0;

  /** @param read what is shown */
  constructor(read: () => Given) {
    this.root.hidden = true;
    this.read = read;
  }

  /** The picture has changed: what is written of it is hidden at once, and written anew later. */
  changed() {
    this.root.hidden = true;
    this.stop();
    this.timer = setTimeout(() => void this.write().catch(() => {}), CALM); // without the server there are none
  }

  async write() {
    const { timer } = this;
    const { rowsSaid } = await import("./rows.ts");
    if (timer !== this.timer) return; // the picture has changed
    const { panels, labels, covers } = this.read();
    const lists = panels
      .filter(({ is_blank }) => !is_blank)
      .map((panel) => ({
        list: element("ol", { "aria-label": `${panel.title}, ${rowsText(panel)}` }),
        rows: rowsSaid(panel, labels, covers?.(panel.name) ?? null),
      }));
    this.root.replaceChildren(...lists.map(({ list }) => list));
    const go = () => {
      const until = performance.now() + SLICE;
      while (lists.length && performance.now() < until) {
        const { done, value } = lists[0].rows.next();
        if (done) lists.shift();
        else lists[0].list.append(element("li", {}, value));
      }
      if (lists.length) this.later(go);
      else this.root.hidden = false;
    };
    this.later(go);
  }

  /** Safari has no idle time of its own. */
  later(work: () => void) {
    if ("requestIdleCallback" in window) this.idle = requestIdleCallback(work);
    else this.timer = setTimeout(work, SLICE);
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if ("cancelIdleCallback" in window) cancelIdleCallback(this.idle);
  }

  destroy() {
    this.stop();
    this.root.remove();
  }
}
