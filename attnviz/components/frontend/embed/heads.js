// A page with all heads of a text of its own.

import { unpack } from "../core/packing.js";
import { Explorer } from "../heads/explorer.js";
import { keysOf, viewOf } from "./heads_link.js";
import { followLecture } from "./lecture.js";
import { chosen, write } from "./link.js";
import { numbers, root, settings, withFont } from "./page.js";
import { Scene } from "./scene.js";

async function start() {
  await withFont();
  /** @type {Payload<ExplorerHeader>} */
  const { header, arrays } = unpack(numbers());
  const explorer = new Explorer(root, async (name) => new Response(/** @type {BufferSource} */ (arrays[name].data)));
  explorer.setTriggerValue = (_, message) => {
    const { number, values } = /** @type {Message} */ (message);
    write(keysOf(values));
    explorer.acknowledge(number);
  };
  const show = () => {
    const view = viewOf(chosen(), settings.view, header);
    explorer.show({ header: { ...header, view }, arrays: { measures: arrays.measures } });
  };
  new Scene();
  followLecture(show);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => explorer.show(null));
}

start();
