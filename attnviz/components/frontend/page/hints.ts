// Hints that Python writes, in the words for the pointer that there is: those of components say it by themselves.

import { perFrame } from "../core/dom.ts";
import { forPointer, nothingHovers } from "../core/touch.ts";

/** Where hints stand: a lesson's sentence, notices, and what Python marks as a hint by its key or its class. */
const HINTS = '.lesson-says, .notice, .hint, [class*="st-key-hint_"]';

/** @param signal ends it */
export function followHints(signal: AbortSignal) {
  if (!nothingHovers()) return;
  const say = perFrame(() => {
    for (const hint of document.querySelectorAll(HINTS)) sayIn(hint);
  });
  const watcher = new MutationObserver(say);
  watcher.observe(document.body, { childList: true, subtree: true, characterData: true });
  signal.addEventListener("abort", () => {
    watcher.disconnect();
    say.cancel();
  });
  say();
}

function sayIn(hint: Element) {
  const texts = document.createTreeWalker(hint, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode as Text;
    const said = forPointer(text.data);
    if (said !== text.data) text.data = said;
  }
}
