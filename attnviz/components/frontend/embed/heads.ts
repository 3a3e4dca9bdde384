// A page with all heads of a text of its own.

import { readPayload } from "../core/payload.ts";
import { Explorer } from "../heads/explorer.ts";
import { keysOf, viewOf } from "./heads_link.ts";
import { PageHost } from "./host.ts";
import { followLecture } from "./lecture.ts";
import { chosen, write } from "./link.ts";
import { numbers, root, settings, withFont } from "./page.ts";
import { Scene } from "./scene.ts";

async function start() {
  await withFont();
  const { header, arrays }: Payload<ExplorerHeader> = readPayload(numbers());
  const explorer = new Explorer(root, new PageHost(arrays, (values) => write(keysOf(values))));
  const show = () => {
    const view = viewOf(chosen(), settings.view, header);
    explorer.update({ header: { ...header, view }, arrays: { measures: arrays.measures } });
  };
  new Scene();
  followLecture(show);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => explorer.update(null));
}

start();
