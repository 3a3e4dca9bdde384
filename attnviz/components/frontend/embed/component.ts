// Shows a component of the app in a page of its own.

import { followLecture } from "./lecture.ts";
import { numbers, root, withFont } from "./page.ts";
import { Scene } from "./scene.ts";

export async function show(Made: new (root: HTMLElement) => Component) {
  await withFont();
  const data = numbers();
  const view = new Made(root);
  const nobody = () => {}; // where there would be a server: the view keeps its changes to itself
  const again = () => view.update(data, nobody, false);
  view.update(data, nobody, true);
  new Scene();
  followLecture(again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
}
