// The words of a lesson that name a part of the page which is no matrix. Fetched when a lesson is open.

import { Marks } from "../marks/marks.ts";

export function followItems() {
  const marks = new Marks([document], { onName: () => {}, onPin: () => {}, isOfPage: true });
  marks.light();
  return marks;
}
