// What shows the matrices of a step: their picture, and the arithmetic of the cell that is pointed at. The sentence
// needs neither, so the script is fetched ahead while it is read.

import { samePin, NOTHING } from "../core/pin.ts";
import { Inspector } from "../inspector/inspector.ts";
import { LargestGap } from "../inspector/largest_gap.ts";
import { inspected } from "../inspector/ways.ts";
import { factorsOf, firstGuess } from "./choices.ts";
import { Drawing } from "./drawing.ts";
import { scoreName } from "./loading.ts";
import { pinnedFact } from "./pinned_fact.ts";
import type { Inspected } from "../inspector/inspector.ts";
import type { Walk } from "./walk.ts";

const ONE_COLUMN = 760; // px: in a narrower walk nothing stands beside the picture; walk.css has the same value

export class MatrixView {
  walk: Walk;
  drawing: Drawing;
  inspector: Inspector;
  gap: LargestGap;
  inspected: Inspected | null = null;

  constructor(walk: Walk) {
    this.walk = walk;
    this.drawing = new Drawing(walk.picture, walk.home, {
      onGuess: () => walk.followGuess(),
      onFocus: (name) => walk.choose({ focus: name ?? "" }),
    });
    this.inspector = this.inspecting();
    this.inspector.view.section.hidden = true; // until there is a picture
    walk.listing.root.before(this.inspector.view.section);
    this.gap = new LargestGap(walk.notice.root, this.inspector);
    walk.playing.offersExport(this.drawing.stage.board.element);
    this.setTheme(walk.theme);
  }

  inspecting() {
    const { walk } = this;
    return new Inspector(walk.beside, {
      onPin: ({ q, k }) => walk.lacking.isPicture || walk.choose({ q, k }),
      find: () => (walk.picture.hidden ? null : this.drawing.shown),
      isCramped: () => walk.element.clientWidth < ONE_COLUMN || walk.element.hasAttribute("data-focus"),
      onLit: (lit) => walk.marks.show({ ...lit, chosen: [walk.store.values.layer, walk.store.values.head] }),
      explains: {
        fetch: async ({ matrices: { document, head } }, q, k) => {
          if (walk.store.current !== document) throw new Error("another text is on its way");
          return walk.loading.fetchJson(scoreName(walk.home, document.header.layer, head, q, k));
        },
        onOpen: (why) => walk.choose({ why }),
      },
    });
  }

  setTheme(theme: Theme) {
    this.drawing.setTheme(theme);
    this.inspector.setTheme(theme);
  }

  /** Paints the matrices of the chosen step; null where it has none. */
  paint(document: WalkDocument, picture: (BoardPicture & { alt: string }) | null) {
    const { store, theme, element, tokens } = this.walk;
    const { values, step, matrices } = store;
    if (!step) return;
    this.inspector.view.section.hidden = !picture;
    this.gap.show(matrices, step.picture);
    if (!picture) {
      this.drawing.motion.follow(null);
      return;
    }
    const { header } = document;
    const { layer, head, focus } = values;
    const predict = values.predict && step.can_be_covered;
    const place = { walk: matrices, order: header.steps.indexOf(step), step: step.name, layer, head };
    const about = { ...place, ...factorsOf(header) };
    const looks = { drawing: values.drawing, theme, pin: { q: values.q, k: values.k } };
    element.toggleAttribute("data-focus", focus !== "" && this.drawing.draws(values.drawing) === "stage");
    this.drawing.take({ ...picture, ...about, predict, focus, guess: firstGuess(header), result: step.name }, looks);
    if (!this.drawing.isChart) tokens.moveTo(this.drawing.stage.board);
  }

  /** What the step's numbers say of the row or the cell that is pinned; null where it is not theirs to say. */
  pinnedFact() {
    const { matrices, step, values } = this.walk.store;
    return matrices && step && pinnedFact(matrices, step, values);
  }

  /** Writes the arithmetic of what is pinned. */
  inspect() {
    const { matrices, values, step } = this.walk.store;
    if (!matrices || !step) return;
    this.inspected = inspected(matrices, step.name, { before: this.inspected, isExplained: values.why });
    this.inspector.show(this.inspected, { q: values.q, k: values.k });
  }

  /** Brings the arrow keys to the picture, and pins its first cell where none is. */
  pinFirst() {
    this.drawing.shown?.focus();
    if (samePin(this.walk.store.values, NOTHING)) this.inspector.setPin({ q: 0, k: 0 });
  }

  destroy() {
    this.inspector.destroy();
    this.drawing.destroy();
  }
}
