// The marked words of texts about a picture: pointing at one, or moving the focus there, lights what it names; a click
// pins it. The other way round, words light up that name what is lit in the picture. Words that name a part of the page
// alone belong to the page: page/items.ts follows them, on every page.

import { bringIntoView, perFrame } from "../core/dom.ts";
import { components, ItemLight, itemsOf, litIn, partsNamed } from "./items.ts";
import { DARK, headOf, isChosen, isElsewhere, isShown, litBy } from "./named.ts";
import { MARKED, targetOf } from "./text.ts";

export class Marks {
  onHead;
  onStep;
  isOfPage;
  inside;
  onName;
  onPin;
  /** under the pointer, or with the focus of the keyboard */
  pointed: HTMLElement | null = null;
  /** clicked, of what can't be pinned */
  held: HTMLElement | null = null;
  lit: LitNow = DARK;
  items = new ItemLight();
  ends = new AbortController();
  light: FrameTask = perFrame(() => this.lightNow());
  watcher: MutationObserver;

  /**
   * `onName(target | null)` is called with what is to be lit, `onPin(target)` with a row, column or cell that is
   * clicked, `onHead([layer, head])` with one of the heads of all layers, `onStep(step)` with a step of a training;
   * other parts stay lit until the next click or Escape.
   * @param inside where the texts stand, but not in shadow roots inside of these; the last holds the others
   * @param does `isOfPage`: those that name a part of the page alone, not the others
   */
  constructor(
    inside: (Document | HTMLElement)[],
    {
      onName,
      onPin,
      onHead,
      onStep,
      isOfPage = false,
    }: {
      onName: (target: Target | null) => void;
      onPin: (target: Target) => void;
      onHead?: (head: HeadId) => void;
      onStep?: (step: number) => void;
      isOfPage?: boolean;
    },
  ) {
    this.onHead = onHead;
    this.onStep = onStep;
    this.isOfPage = isOfPage;
    this.inside = inside;
    this.onName = onName;
    this.onPin = onPin;
    for (const place of inside) this.follow(place);
    this.listen(inside.at(-1) as Document | HTMLElement);
    // A sentence of the page may come later than the picture, or be put anew.
    this.watcher = new MutationObserver(this.light);
    if (inside.includes(document)) this.watcher.observe(document.body, { childList: true, subtree: true });
  }

  /**
   * Follows the pointer and the focus in a place. What moves inside of a shadow root is not heard of outside of it.
   */
  follow(place: Document | HTMLElement) {
    this.on(place, "pointerover", (word, { pointerType }) => pointerType !== "touch" && this.point(word));
    this.on(place, "pointerout", (_, { relatedTarget }) => relatedTarget || this.point(null));
    this.on(place, "focusin", (word) => word?.matches(":focus-visible") && this.point(word));
    this.on(place, "focusout", (word) => word === this.pointed && this.point(null));
  }

  listen(place: Document | HTMLElement) {
    this.on(place, "click", (word) => word && this.click(word));
    this.on(place, "keydown", (word, event) => this.key(word, event));
  }

  on(place: Document | HTMLElement, name: string, work: (word: HTMLElement | null, event: any) => void) {
    place.addEventListener(name, (event) => work(this.wordOf(event), event), { signal: this.ends.signal });
  }

  /** The marked word that an event is about. */
  wordOf(event: Event) {
    const [target] = event.composedPath();
    const word = target instanceof Element ? target.closest(MARKED) : null;
    const isInside = word instanceof HTMLElement && this.inside.some((place) => place.contains(word));
    return isInside && this.isOwn(targetOf(word)) ? word : null;
  }

  isOwn({ item, step }: Target) {
    return (item !== "" && step === null) === this.isOfPage;
  }

  point(word: HTMLElement | null) {
    if (word === this.pointed) return;
    this.pointed = word;
    this.name();
  }

  name() {
    const word = this.pointed ?? this.held;
    this.onName(word && targetOf(word));
    this.lightItem();
    this.light();
  }

  lightItem() {
    const word = this.pointed ?? this.held;
    this.items.show(word?.dataset.item ?? "", word?.textContent ?? "");
  }

  click(word: HTMLElement) {
    const target = targetOf(word);
    if (!this.isThere(target)) return;
    const isPlace = (target.row !== null || target.column !== null) && !target.part;
    const head = headOf(target);
    const isStep = target.step !== null;
    this.held = isPlace || head || isStep || this.held === word ? null : word;
    if (head) this.onHead?.(head);
    if (target.step !== null) this.onStep?.(target.step);
    if (isPlace) this.onPin(target);
    if (this.held !== word && this.pointed === word) this.pointed = null; // what is let go of goes dark at once
    this.name();
    this.light();
    if (this.held === word || isStep) bringIntoView(partsNamed(itemsOf(target.item), word.textContent ?? ""));
    // On a phone a sentence may stand below or above its picture. What it names is lit in the next frame.
    if (!this.isOfPage && (isPlace || this.held === word)) {
      requestAnimationFrame(() => bringIntoView(litIn(target.matrix)));
    }
  }

  key(word: HTMLElement | null, event: KeyboardEvent) {
    const isPress = word && (event.key === "Enter" || event.key === " ");
    const isEnd = this.held && event.key === "Escape" && !event.defaultPrevented;
    if (!isPress && !isEnd) return;
    event.preventDefault();
    event.stopPropagation();
    if (isPress) this.click(word);
    else this.drop();
  }

  /** Names nothing any more. */
  drop() {
    this.held = null;
    this.pointed = null;
    this.name();
    this.light();
  }

  /** What is lit in the picture now. */
  show(lit: LitNow) {
    this.lit = lit;
    if ([this.pointed, this.held].some((word) => word && !word.isConnected)) this.drop(); // its sentence is gone
    this.light();
  }

  lightNow() {
    if (this.isOfPage) for (const root of components()) this.watcher.observe(root, { childList: true, subtree: true });
    const { query, key } = this.lit.pinned;
    for (const place of this.inside) {
      for (const word of place.querySelectorAll(MARKED)) {
        if (!(word instanceof HTMLElement)) continue;
        const target = targetOf(word);
        if (!this.isOwn(target)) continue;
        const { row, column, part } = target;
        const isPlace = !part && (row !== null || column !== null) && !isElsewhere(target, this.lit);
        const isPinned = (isPlace && row === query && column === key) || isChosen(target, this.lit);
        const isThere = this.isThere(target);
        const isMeant = isThere && (word === this.pointed || word === this.held);
        const lit = isMeant ? "pointer" : litBy(target, this.lit);
        word.setAttribute("aria-disabled", String(!isThere)); // a later step of the scene has it
        word.tabIndex = isThere ? 0 : -1;
        if (lit) word.dataset.lit = lit;
        else delete word.dataset.lit;
        word.setAttribute("aria-pressed", String(isPinned || word === this.held));
      }
    }
    if (this.items.lit.length || this.pointed || this.held) this.lightItem(); // its element may be a new one
  }

  /** Whether the page has what a word names. */
  isThere(target: Target) {
    if (target.item) return itemsOf(target.item).length > 0;
    if (target.step !== null && !this.onStep) return false;
    return headOf(target) ? Boolean(this.onHead) : isShown(target, this.lit.panels);
  }

  destroy() {
    this.ends.abort();
    this.watcher.disconnect();
    this.items.show("", "");
    this.light.cancel();
  }
}
