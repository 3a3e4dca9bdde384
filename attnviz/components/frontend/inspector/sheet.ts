// Where there is no room beside the picture, the arithmetic of a cell that was asked for is a sheet at the bottom of
// the window, over the page: a popover, because nothing around it can clip or move that.

import { element } from "../core/dom.ts";

const AWAY = 24; // px between a cell and the sheet

export class Sheet {
  section: HTMLElement;
  isWanted;
  pressed;

  /**
   * `isWanted()` says whether there is no room beside the picture; `onClose()` is called by the sheet's own button,
   * `onLeave()` when a button or link of the page is pressed, which may open something that the sheet would cover.
   */
  constructor(
    section: HTMLElement,
    { isWanted, onClose, onLeave }: { isWanted: () => boolean; onClose: () => void; onLeave: () => void },
  ) {
    this.section = section;
    this.isWanted = isWanted;
    /** @param event seen from outside of the shadow root, if the sheet is in one */
    this.pressed = ({ target }: PointerEvent) => {
      const inside = section.getRootNode();
      const own = inside instanceof ShadowRoot ? inside.host : section;
      if (target instanceof Element && !own.contains(target) && target.closest("button, a")) onLeave();
    };
    section.append(element("button", { type: "button", class: "close", "aria-label": "Close", onclick: onClose }, "✕"));
  }

  get isOpen() {
    return this.section.matches(":popover-open");
  }

  set(isOpen: boolean) {
    const opens = isOpen && this.isWanted();
    if (opens === this.isOpen) return;
    if (opens) {
      this.section.style.minHeight = "";
      this.section.popover = "manual";
      this.section.showPopover();
      document.addEventListener("pointerdown", this.pressed, { capture: true });
    } else {
      document.removeEventListener("pointerdown", this.pressed, { capture: true });
      this.section.hidePopover();
      this.section.popover = null;
    }
  }

  /** Scrolls the page so that what lies at the height `y` of the window is not under the sheet. */
  uncover(picture: Element | null, y: number) {
    const over = this.isOpen ? y + AWAY - this.section.getBoundingClientRect().top : 0;
    if (over > 0) scrollerOf(picture)?.scrollBy({ top: over });
  }
}

/** What scrolls an element. */
function scrollerOf(inside: Element | null): Element | null {
  for (let one = inside; one; one = parentOf(one)) {
    const { overflowY } = getComputedStyle(one);
    if (one.scrollHeight > one.clientHeight && ["auto", "scroll"].includes(overflowY)) return one;
  }
  return document.scrollingElement;
}

function parentOf(one: Element): Element | null {
  const root = one.getRootNode();
  return one.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}
