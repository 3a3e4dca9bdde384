// The walk that plays itself, on a slide: all its steps one after the other, for a file.

import { element } from "../core/dom.ts";
import { Pen } from "../pen/pen.ts";
import { toCanvas } from "../pen/canvas.ts";
import { captionOf } from "../walk/captions.ts";
import { factorsOf } from "../walk/choices.ts";
import { pictureOf } from "../walk/pictures.ts";
import { pairOf } from "../walk/row_words.ts";
import { arcsAt, momentAt, partAt, scheduleOf } from "../walk/schedule.ts";
import { Sentence } from "../walk/sentence.ts";
import type { WalkDocument } from "../core/document.ts";
import type { Slide } from "../motion/slide.ts";
import type { FullPair } from "../walk/row_words.ts";
import type { HeadMatrices } from "../walk/matrices.ts";
import type { Part } from "../walk/schedule.ts";
import type { Walk } from "../walk/walk.ts";

const LINES = 2; // of a caption
const DENSITY = 2; // pixels of a picture of words for one of the page's
const STAGES = 12; // pictures while the arcs are drawn
const AWAITED = "Numbers of some steps have not come.";

/** One step, ready to be drawn at a time of the walk. */
interface Scene {
  part: Part;
  draw(time: number): void;
}

/**
 * The walk as it would be played now. What is not here yet is fetched first.
 * @throws {Error} it can't be; the message is a sentence
 */
export async function walkAnimation(walk: Walk, { theme }: { theme: Theme }): Promise<PageAnimation> {
  const { current: document, values, matrices } = walk.store;
  if (!document || !matrices) throw new Error(AWAITED);
  const schedule = scheduleOf(document.header);
  await fetchAll(walk, document, matrices, schedule.parts);
  const motions = await import("../motion/motions.ts");
  const looks = { document, matrices, pair: pairOf(matrices, values), values, theme, timelineOf: motions.timelineOf };
  const slide = new motions.Slide(walk.element, { theme, hasTitle: true, lines: LINES });
  let scene: Scene | null = null;
  return motions.animated(slide, schedule.ms, (t) => {
    const time = Math.min(t * schedule.ms, schedule.ms - 1);
    const part = schedule.parts[partAt(schedule, time)];
    if (scene?.part !== part) scene = sceneOf(walk, slide, part, looks);
    scene.draw(time);
  });
}

interface Looks {
  document: WalkDocument;
  matrices: HeadMatrices;
  pair: FullPair;
  values: WalkValues;
  theme: Theme;
  timelineOf(played: Played): Timeline | null;
}

/** Fetches what the steps need, in a few rounds: what is computed may need what is fetched. */
async function fetchAll(walk: Walk, document: WalkDocument, matrices: HeadMatrices, parts: Part[]) {
  const { values, loading } = { ...walk.store, loading: walk.loading };
  for (let round = 0; round < 3; round += 1) {
    const pictures = parts.map(({ step }) => pictureOf(document, step, values.head, values));
    const needs = pictures.flatMap((picture) => (picture && "needs" in picture ? picture.needs : []));
    const all = [...new Set([...needs, ...matrices.missingOfRows])];
    if (!all.length) return;
    await Promise.all(all.map((name) => loading.fetchNow(document, name)));
  }
  throw new Error(AWAITED);
}

function sceneOf(walk: Walk, slide: Slide, part: Part, looks: Looks): Scene {
  const { document, matrices, pair, values, timelineOf } = looks;
  const { header } = document;
  const order = header.steps.findIndex(({ name }) => name === part.step);
  const says = captionOf(matrices, header.steps[order], pair);
  const words = { title: part.title, says };
  const picture = pictureOf(document, part.step, values.head, values);
  if (!picture || "needs" in picture) {
    const image = sentenceImages(walk, slide, looks);
    return { part, draw: (time) => slide.drawImage(image(arcsAt(momentAt(part, time, 1))), DENSITY, words) };
  }
  const stage = { ...picture, walk: matrices, order, step: part.step, ...factorsOf(header) };
  slide.take(stage);
  const timeline = timelineOf({ step: part.step, picture: stage, example: pair, ...factorsOf(header) });
  return {
    part,
    draw(time) {
      const t = momentAt(part, time, timeline?.example ?? 1);
      slide.draw(timeline && t < 1 ? timeline.at(t) : null, words);
    },
  };
}

/** Draws the sentence with a part of its arcs, each such picture once. */
function sentenceImages(walk: Walk, slide: Slide, { matrices, pair, theme }: Looks) {
  const sentence = new Sentence({ pin() {}, open() {}, dim() {}, hide() {} });
  const place = element("div", { style: slide.place.style.cssText }, sentence.root);
  walk.element.append(place);
  sentence.show(matrices, pair.q, walk.store.values.dim);
  sentence.place();
  const { offsetWidth: width, offsetHeight: height } = sentence.words;
  const family = slide.board.font;
  const images = new Map<number, HTMLCanvasElement>();
  const drawn = (grown: number) => {
    sentence.grow(grown);
    const pen = new Pen({ paper: null });
    sentence.paint(pen, theme);
    return toCanvas({ marks: pen.marks, width, height, paper: null }, { scale: DENSITY, family });
  };
  for (let n = 0; n <= STAGES; n += 1) images.set(n, drawn(n / STAGES));
  sentence.destroy();
  place.remove();
  return (grown: number) => images.get(Math.ceil(grown * STAGES)) as HTMLCanvasElement;
}
