// The sentence about a step's numbers: of the whole step, or of the row or the cell that is pinned. The script of the
// latter is fetched with the first picture: a first visit, which begins with the sentence, goes without it.

import { Later } from "../core/later.ts";
import { ofHead } from "./pictures.ts";
import type { StepText } from "../core/document.ts";
import type { HeadMatrices } from "./matrices.ts";

/** What says sentences about cells and rows. */
export type Captions = typeof import("./captions.ts");
export const fetchCaptions = (): Promise<Captions> => import("./captions.ts");

export class Facts {
  pinned: Later<Captions>;

  /** @param onCome the sentence may be another */
  constructor(onCome: () => void) {
    this.pinned = new Later(fetchCaptions, onCome);
  }

  /** @param own the place of the head */
  of(matrices: HeadMatrices, step: StepText, pin: Pair, own: number): SaidText {
    if (step.picture) void this.pinned.want();
    return this.pinned.value?.pinnedFact(matrices, step, pin) ?? ofHead(step.fact, own);
  }
}
