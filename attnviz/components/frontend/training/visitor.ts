// Where a tab keeps the name of its trainings, over a reload.

import { keep, kept } from "../core/storage.ts";

const VISITOR = "attnviz-training";

/** After a reload the tab still knows the name of its trainings. */
export function findAgain(updates: { set: (values: { visitor: string }) => unknown }, given: string) {
  const before = kept(VISITOR);
  if (before && before !== given) updates.set({ visitor: before });
  else keep(VISITOR, given);
}
