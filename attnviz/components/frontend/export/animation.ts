// A step that is played, as a GIF for slides.

import { Gif } from "./gif.ts";

const FRAME = 10; // 1/100 s
const END = 250; // 1/100 s that the last frame stays
const SAMPLES = 8; // moments whose colours the palette has
const TOGETHER = 6; // frames after which the page may do something else

/** Draws all frames; `said` is called with the share that is done, from 0 to 1. */
export async function gifOf(animation: PageAnimation, said: (share: number) => void) {
  const { width, height, ms } = animation;
  const at = (t: number) => animation.draw(t);
  const samples = Array.from({ length: SAMPLES }, (_, n) => at((n + 0.5) / SAMPLES));
  const gif = new Gif(width, height, [...samples, at(1)]);
  const count = Math.ceil(ms / 10 / FRAME);
  for (let n = 0; n < count; n += 1) {
    gif.add(at(n / count), FRAME);
    if (n % TOGETHER) continue;
    said(n / count);
    await new Promise((done) => setTimeout(done));
  }
  gif.add(at(1), END);
  return gif.blob();
}
