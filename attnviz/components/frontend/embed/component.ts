// Shows a component of the app in a page of its own.

import { readPayload } from "../core/payload.ts";
import { PageHost } from "./host.ts";
import { followLecture } from "./lecture.ts";
import { numbers, withFont } from "./page.ts";
import { Scene } from "./scene.ts";

export async function show(make: (host: Host) => Component) {
  await withFont();
  const payload = readPayload(numbers());
  const view = make(new PageHost(payload.arrays)); // the view keeps its changes to itself
  const again = () => view.update(null);
  view.update(payload);
  new Scene();
  followLecture(again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
}
