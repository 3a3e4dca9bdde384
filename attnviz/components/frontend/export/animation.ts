// What is played as a file for slides: a GIF, or a video where the browser can encode one.

import { Gif } from "./gif.ts";
import { canEncode, Video } from "./webm.ts";

const END = 2500; // ms that the last frame stays
const SAMPLES = 8; // moments whose colours the palette has
const AT_ONCE = 12; // ms of work after which the page may do something else
const FRAMES = { second: 10, long: 4 }; // of a GIF, per second: of a long one fewer, or its file would be huge
const LONG = 60_000; // ms
const OF_VIDEO = 10; // frames per second

/** Whether this browser can make a video of slides. */
export const canFilm = () => (known ??= canEncode({ width: 1280, height: 720 }, OF_VIDEO));

let known: Promise<boolean> | undefined;

type Said = (share: number) => void;

const NO_WORDS = { title: "", caption: "" };

/**
 * Draws all frames; `said` is called with the share that is done, from 0 to 1.
 * @param words that the file holds, for programs that read it
 */
export async function gifOf(animation: PageAnimation, said: Said, words: FileWords = NO_WORDS) {
  const { width, height, ms } = animation;
  const at = (t: number) => animation.draw(t);
  const samples: Uint32Array[] = [];
  for (let n = 0; n < SAMPLES; n += 1) {
    samples.push(at((n + 0.5) / SAMPLES));
    await rest();
  }
  const gif = new Gif(width, height, [...samples, at(1)], words);
  const delay = 100 / (ms > LONG ? FRAMES.long : FRAMES.second); // 1/100 s
  await all(Math.ceil(ms / 10 / delay), said, (t) => gif.add(at(t), delay));
  gif.add(at(1), END / 10);
  return gif.blob();
}

/** The same as a video. */
export async function videoOf(animation: PageAnimation, said: Said, words: FileWords = NO_WORDS) {
  const video = new Video(animation, OF_VIDEO, words);
  const film = (t: number) => {
    animation.paint(t);
    return video.add(animation.canvas);
  };
  await all(Math.ceil((animation.ms / 1000) * OF_VIDEO), said, film);
  for (let n = 0; n < (END / 1000) * OF_VIDEO; n += 1) await film(1);
  return video.blob();
}

/** Adds so many frames, a few at a time. */
async function all(count: number, said: Said, add: (t: number) => void | Promise<void>) {
  let until = 0;
  for (let n = 0; n < count; n += 1) {
    await add(n / count);
    if (performance.now() < until) continue;
    said(n / count);
    await rest();
    until = performance.now() + AT_ONCE;
  }
}

const rest = () => new Promise((done) => setTimeout(done));
