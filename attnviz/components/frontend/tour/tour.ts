// The tour of Step by step: a card that goes from stop to stop and points at the real elements, which stay usable. It
// looks in every frame where its element is now, so it follows the page through scrolling, resizing and reruns.

import { element, theme } from "../core/dom.ts";
import { placed } from "./placing.ts";
import { find, STOPS } from "./stops.ts";

const RING = 4; // CSS px around what is pointed at

/** The stop that is open: kept beside the component, which Streamlit may make anew during a tour. */
const open = { stop: 0 };

class Tour {
  host: Host;
  /** what is pointed at */
  target: HTMLElement | null;
  before;
  frame: number | undefined;
  title: HTMLHeadingElement;
  says: HTMLParagraphElement;
  count: HTMLSpanElement;
  back: HTMLButtonElement;
  next: HTMLButtonElement;
  skip: HTMLButtonElement;
  card: HTMLDivElement;
  ring: HTMLDivElement;
  section: HTMLElement;
  ends: AbortController;

  constructor(root: HTMLElement, host: Host) {
    this.host = host;
    this.target = null;
    this.before = document.activeElement;
    this.frame = undefined;
    this.title = element("h2", { id: "tour-title" });
    this.says = element("p", { id: "tour-says" });
    this.count = element("span", { class: "count" });
    this.back = button("Back", () => this.go(-1));
    this.next = button("Next", () => this.go(1));
    this.next.classList.add("next");
    this.skip = button("Skip", () => this.end());
    const buttons = element("div", { class: "buttons" }, this.count, this.skip, this.back, this.next);
    const about = { role: "dialog", "aria-labelledby": "tour-title", "aria-describedby": "tour-says", tabIndex: -1 };
    this.card = element("div", { class: "card", popover: "manual", ...about }, this.title, this.says, buttons);
    this.ring = element("div", { class: "ring", popover: "manual", "aria-hidden": "true" });
    this.section = element("section", { class: "tour" }, this.ring, this.card);
    root.append(this.section);
    this.ends = new AbortController();
    window.addEventListener("keydown", (event) => this.key(event), { signal: this.ends.signal, capture: true });
    this.ring.showPopover();
    this.card.showPopover();
    this.show();
  }

  update() {
    this.section.dataset.theme = theme(this.section);
  }

  go(by: number) {
    const to = open.stop + by;
    if (to >= STOPS.length) this.end();
    else if (to >= 0) {
      open.stop = to;
      this.show();
    }
  }

  /** Opens the stop, and gives it the focus, so that it is read out and the keys work. */
  show() {
    const { title } = STOPS[open.stop];
    const isLast = open.stop === STOPS.length - 1;
    this.title.textContent = title;
    this.count.textContent = `${open.stop + 1} of ${STOPS.length}`;
    this.back.disabled = open.stop === 0;
    this.next.textContent = isLast ? "Done" : "Next";
    this.skip.hidden = isLast;
    this.target = null;
    this.follow();
    this.card.focus({ preventScroll: true });
  }

  /** Points at the stop's element where it is now; scrolls to it once, when it is found. */
  follow() {
    cancelAnimationFrame(this.frame ?? 0);
    const { at, says } = STOPS[open.stop];
    const { target: found = null, hint = "" } = find(at) ?? {};
    if (found && found !== this.target) scrollTo(found);
    if (this.says.textContent !== says + hint) this.says.textContent = says + hint;
    this.target = found;
    this.ring.hidden = !found;
    const room = { width: document.documentElement.clientWidth, height: window.innerHeight };
    const { width, height } = this.card.getBoundingClientRect();
    const box = found ? boxOf(found, room) : { x: room.width / 2, y: room.height / 2, width: 0, height: 0 };
    move(this.ring, box);
    Object.assign(this.ring.style, { width: `${box.width}px`, height: `${box.height}px` });
    move(this.card, placed(box, { width, height }, room));
    this.frame = requestAnimationFrame(() => this.follow());
  }

  /** Arrows and Esc, where the card has the focus or nothing has: elsewhere the keys are the page's. */
  key(event: KeyboardEvent) {
    const [target] = event.composedPath();
    if (!(target instanceof Node && (this.card.contains(target) || target === document.body))) return;
    const acts: Record<string, () => void> = {
      ArrowRight: () => this.go(1),
      ArrowLeft: () => this.go(-1),
      Escape: () => this.end(),
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    act();
  }

  /** Closes at once; the server is notified. */
  end() {
    open.stop = 0;
    this.close();
    if (this.before instanceof HTMLElement && this.before.isConnected) this.before.focus({ preventScroll: true });
    this.host.say("ended", Date.now());
  }

  close() {
    this.ends.abort();
    cancelAnimationFrame(this.frame ?? 0);
    this.section.remove();
  }

  destroy() {
    this.close();
  }
}

function button(text: string, act: () => void) {
  const made = element("button", { type: "button" }, text);
  made.addEventListener("click", act);
  return made;
}

/** The visible part of an element, and a little more. */
function boxOf(one: HTMLElement, room: Size): Box {
  const { left, top, right, bottom } = one.getBoundingClientRect();
  const [x, y] = [Math.max(left - RING, 0), Math.max(top - RING, 0)];
  return {
    x,
    y,
    width: Math.max(0, Math.min(right + RING, room.width) - x),
    height: Math.max(0, Math.min(bottom + RING, room.height) - y),
  };
}

function move(one: HTMLElement, { x, y }: { x: number; y: number }) {
  const wanted = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  if (one.style.transform !== wanted) one.style.transform = wanted;
}

/** At its start, where it is higher than the window. */
function scrollTo(one: HTMLElement) {
  const block = one.getBoundingClientRect().height > window.innerHeight * 0.7 ? "start" : "center";
  one.scrollIntoView({ block, inline: "nearest", behavior: "instant" });
}

export default Tour;
