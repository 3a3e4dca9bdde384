// What keys do in a walk.

import { isShortcut, pressed } from "../core/keys.ts";

const ACTS: Record<string, string> = {
  ArrowRight: "next",
  ArrowLeft: "previous",
  PageDown: "next",
  PageUp: "previous",
  h: "head_on",
  "Shift+h": "head_back",
  y: "layer_on",
  "Shift+y": "layer_back",
  f: "pin",
  p: "predict",
  s: "stretch",
  r: "reveal_row",
  a: "reveal_all",
  c: "listing",
  d: "drawing",
  k: "play",
  w: "walk",
  ".": "cell_on",
  ",": "cell_back",
  Escape: "unpin",
};

/** The name of what a key press asks for; undefined where it asks for nothing. */
export function actOf(event: KeyboardEvent) {
  return isShortcut(event) ? ACTS[pressed(event)] : undefined;
}
