// Shows a component of the app in a page of its own.

import { followLecture } from "./lecture.js";
import { numbers, root, withFont } from "./page.js";
import { Scene } from "./scene.js";

/** @param {new (root: HTMLElement) => Component} Made */
export async function show(Made) {
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
