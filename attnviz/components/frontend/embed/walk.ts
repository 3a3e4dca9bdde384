// A page with a walk of its own.

import { sourceOf } from "../core/arrays.ts";
import { read } from "../core/document.ts";
import { Refused } from "../core/files.ts";
import { SCORE } from "../walk/loading.ts";
import { Walk } from "../walk/walk.ts";
import { PageHost } from "./host.ts";
import { followLecture } from "./lecture.ts";
import { isLecture, values, write } from "./link.ts";
import { numbers, root, settings, withFont } from "./page.ts";
import { Scene } from "./scene.ts";

const NO_PARTS = "this page holds only those of the cell that was pinned when it was made";

class WalkHost extends PageHost {
  /** @throws {Refused} the page does not hold the file */
  async request(name: string) {
    if (!name.startsWith(SCORE)) return super.request(name);
    if (!Object.hasOwn(settings.scores, name)) throw new Refused(NO_PARTS);
    return new Response(JSON.stringify(settings.scores[name]));
  }
}

async function start() {
  await withFont();
  const reveal = () => walk.choose({ predict: false });
  const walk = new Walk(root, {
    keyboard: document,
    source: sourceOf(new WalkHost()),
    changed: (changed) => {
      write(changed);
      ask();
    },
    revealed: reveal,
  });
  const scene = new Scene({ reveal, step: () => walk.store.values.step, choose: (step) => walk.choose({ step }) });
  const ask = () => scene.ask(walk.store.values.predict);
  walk.show(values(), read(numbers()));
  walk.checkLink(values());
  followLecture(() => {
    const held = walk.playing.hold(); // writes into the address where it is
    walk.setLecture(isLecture());
    walk.show(values());
    walk.playing.resume(held);
    ask();
  });
}

start();
