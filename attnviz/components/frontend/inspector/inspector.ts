// The inspector: follows the pointer and the keys on a picture of matrices, lights the row and the column, pins a cell,
// and writes its arithmetic beside the picture.

import { samePin, NOTHING } from "../core/pin.ts";
import { perFrame, typedInto } from "../core/dom.ts";
import { Overlay } from "../board/overlay.ts";
import { findPanel } from "../board/panels.ts";
import { namedIn } from "../marks/named.ts";
import { moved, Picture } from "../board/picture.ts";
import { Sheet } from "./sheet.ts";
import { HINT, View } from "./view.ts";
import { Why } from "./why.ts";
import type { HeadMatrices } from "../walk/matrices.ts";
import type { Attention, Matrix } from "../core/attention.ts";
import type { Explains } from "./why.ts";

const COVERED = "Covered."; // the line above says what to do

/** What the inspector writes about: a head, at a step. */
export interface Inspected {
  matrices: HeadMatrices;
  attention: Attention;
  labels: Labels;
  step: string;
  /** the names of all, in order */
  steps: string[];
  /** the matrices whose cells a chain explains */
  byCell: string[];
  /** whether the step comes after attention, so that its cells have no key */
  isLater: boolean;
  /** the means of the loop, to compare another way's with */
  loop: Matrix | null;
  /** whether it can be said why a score is high, and whether it is */
  canExplain: boolean;
  isExplained: boolean;
}

export class Inspector {
  onPin;
  onLit;
  /** what a word names, in place of the pointer */
  named: Target | null = null;
  pin: Pair = NOTHING;
  hovered: Cell | null = null;
  /** the cell whose click pinned what is pinned */
  clicked: Cell | null = null;
  asked = false; // whether a cell was clicked, and not closed since
  inspected: Inspected | null = null;
  /** whether the arithmetic of what is shown has still to come */
  isWaiting = false;
  theme: Theme = "light";
  overlay = new Overlay();
  draw: FrameTask = perFrame(() => this.drawNow());
  view: View;
  sheet: Sheet;
  picture: Picture;

  /**
   * `onPin(pin)` is called when the user pins another cell, `onLit(lit)` whenever what is lit may be another. `find()`
   * gives the picture. `isCramped()` says whether there is no room beside it. `explains` has the parts of scores.
   */
  constructor(
    root: Element | ShadowRoot,
    {
      onPin,
      find,
      isCramped = () => false,
      onLit = () => {},
      explains,
    }: {
      onPin: (pin: Pair) => void;
      find: () => HTMLElement | null;
      isCramped?: () => boolean;
      onLit?: (lit: LitNow) => void;
      explains: Explains;
    },
  ) {
    this.onPin = onPin;
    this.onLit = onLit;
    this.view = new View(root, {
      onPin: (pin) => this.setPin(pin),
      onUnpin: () => this.unpin(),
      why: new Why(explains, this.draw),
    });
    this.sheet = new Sheet(this.view.section, {
      isWanted: isCramped,
      onClose: () => this.close(),
      onLeave: () => this.putAway(),
    });
    this.view.section.attnvizPinned = () =>
      this.inspected && !this.isWaiting && !this.covers(this.pin)
        ? this.view.said(this.inspected.attention, this.pin)
        : "";
    this.picture = new Picture({
      find,
      onPoint: (at) => this.point(at),
      onClick: (at) => this.click(at),
      onKey: (event) => this.arrow(event),
      onDrawn: this.draw,
    });
  }

  show(inspected: Inspected, pin: Pair) {
    const isOtherStep = inspected.step !== this.inspected?.step;
    if (isOtherStep && !this.picture.pointer) this.hovered = null; // a finger's cell was of that step
    this.inspected = inspected;
    if (isOtherStep || !samePin(pin, this.pin)) this.clicked = null;
    this.isWaiting = false;
    this.view.section.style.visibility = "";
    this.pin = pin;
    this.view.setInspected(inspected);
    this.picture.follow(); // it may have been hidden
    this.draw();
  }

  /** Hides the arithmetic until `show`: that of another head would stand beside this one's picture. Pins go on. */
  wait() {
    this.isWaiting = true;
    this.view.section.style.setProperty("visibility", "hidden", "important"); // the style sheet's own is important
  }

  setTheme(shade: Theme) {
    this.theme = shade;
    this.view.section.dataset.theme = shade;
    this.view.on.why.theme = shade;
    this.draw();
  }

  /** What the user pins. */
  setPin(pin: Pair) {
    if (!this.inspected || samePin(pin, this.pin)) return;
    this.pin = pin;
    this.clicked = null;
    if (!this.isWaiting) this.view.announce(this.inspected.attention, pin, this.covers(pin));
    this.draw();
    this.onPin(pin);
  }

  covers({ q, k }: Pair) {
    const covered = this.picture.panels().find(isCovering)?.covered;
    return q !== null && k !== null && Boolean(covered?.(q, k));
  }

  /** Lights what a word names, or no longer. */
  name(target: Target | null) {
    this.named = target;
    this.draw();
  }

  /**
   * Pins the row, the column or the cell that a word names, of one that is covered its row; unpins what is pinned.
   */
  pinNamed({ row, column }: Target) {
    const pin = { q: row, k: this.covers({ q: row, k: column }) ? null : column };
    this.hovered = null;
    if (samePin(pin, this.pin)) this.unpin();
    else this.setPin(pin);
  }

  unpin() {
    this.asked = false;
    this.setPin(NOTHING);
  }

  /** Closes the sheet: nothing is followed any more. */
  close() {
    this.hovered = null;
    this.unpin();
    this.draw();
  }

  /** Closes the sheet; what is pinned stays. */
  putAway() {
    this.asked = false;
    this.draw();
  }

  point(at: Cell | null) {
    if (at?.panel === this.hovered?.panel && at?.i === this.hovered?.i && at?.j === this.hovered?.j) return;
    this.hovered = at;
    this.draw();
  }

  click(at: Cell) {
    if (this.picture.graph?.attnviz?.uncover(at)) return; // a guess is judged, not pinned
    const pin = { ...this.pin };
    if (at.cols === "query") pin.q = at.j;
    if (at.cols === "key") pin.k = at.j;
    if (at.rows === "query") pin.q = at.i;
    if (at.rows === "key") pin.k = at.i;
    if (at.rows !== "query" && at.rows !== "key" && at.cols !== "query" && at.cols !== "key") return;
    const whole = [at.rows, at.cols].includes("query") && [at.rows, at.cols].includes("key");
    // In a panel with one token axis another cell of the pinned row is no request to unpin it.
    const again = samePin(pin, this.pin) && (whole || sameCell(at, this.clicked));
    this.asked = !again;
    if (again && !this.picture.pointer) this.hovered = null;
    this.setPin(again ? NOTHING : pin);
    this.clicked = again ? null : at;
    this.draw();
  }

  /** Guesses the pinned cell, if it is covered; says whether it was. */
  guess({ q, k }: Pair) {
    const covering = this.picture.panels().find(isCovering);
    if (!covering || q === null || k === null || !this.covers({ q, k })) return false;
    const at = { panel: covering.name, rows: covering.rows, cols: covering.cols, i: q, j: k };
    const isTaken = this.picture.graph?.attnviz?.uncover(at) ?? false;
    this.draw();
    return isTaken;
  }

  /** Arrow keys on the board move the pin; Enter guesses. */
  arrow(event: KeyboardEvent) {
    if (event.key === "Enter" && this.guess(this.pin)) {
      event.preventDefault();
      return;
    }
    const to = moved(event, { query: this.pin.q, key: this.pin.k }, this.view.labels);
    if (!to) return;
    this.hovered = null;
    this.setPin({ q: to.query, k: to.key });
  }

  /**
   * Escape lets go of the pin, unless it is pressed in a field elsewhere. Where nothing is pinned, it is for others.
   */
  escape(event: KeyboardEvent) {
    const typing = typedInto(event);
    const elsewhere = typing && !this.view.section.contains(typing);
    if (event.key !== "Escape" || event.defaultPrevented || elsewhere || samePin(this.pin, NOTHING)) return;
    this.unpin();
    event.preventDefault();
  }

  drawNow() {
    const { inspected } = this;
    if (!inspected) return;
    const { graph } = this.picture;
    const pinned = { query: this.pin.q, key: this.pin.k };
    graph?.attnviz?.hold(pinned);
    const panels = this.picture.panels();
    const products = this.picture.products();
    const [panel, at] = this.followed(panels);
    this.overlay.draw({
      graph,
      panels,
      products,
      labels: this.view.labels,
      hovered: at,
      pinned: samePin(this.pin, NOTHING) ? null : { kinds: pinned, operands: {}, at: null },
      named: this.named && namedIn(this.named, panels),
      theme: this.theme,
    });
    this.onLit({ panels, hovered: at, pinned });
    // After the light over the picture, which reads the picture's size.
    this.showCell(inspected, { at, panel, panels, products });
    const opens = this.asked && (at !== null || !samePin(this.pin, NOTHING));
    if (opens === this.sheet.isOpen) return;
    this.sheet.set(opens);
    this.sheet.uncover(graph, this.picture.pressedAt);
  }

  /**
   * What the arithmetic is about: the cell under the pointer, or else the one that was clicked, where it pinned
   * only a row or a column.
   */
  followed(panels: DrawnPanel[]): [DrawnPanel, Cell] | [null, null] {
    const isHalf = this.pin.q === null || this.pin.k === null;
    const at = this.hovered ?? (isHalf ? this.clicked : null);
    const panel = at && findPanel(panels, at);
    return panel ? [panel, at] : [null, null];
  }

  showCell(
    { attention, isLater, byCell }: Inspected,
    {
      at,
      panel,
      panels,
      products,
    }: { at: Cell | null; panel: DrawnPanel | null; panels: DrawnPanel[]; products: Products },
  ) {
    const { view, pin } = this;
    view.pin = pin;
    const covered = panels.find(isCovering);
    const isRowCovered = (row: number) => isCovered(covered, row, attention.keys);
    const showChain = (row: number, column: number, badge: string) =>
      view.showChain(row, column, { badge, isCovered: isRowCovered(row) });
    if (at && panel ? panel.covered?.(at.i, at.j) : this.covers(pin)) {
      view.showHint(pin, COVERED);
      return;
    }
    if (!at || !panel) {
      const { q, k } = pin;
      if (isLater) view.showHint(pin, HINT);
      else if (q !== null && k !== null && attention.has(q, k)) showChain(q, k, "pinned");
      else if (q !== null && isRowCovered(q)) view.showHint(pin, COVERED);
      else view.showRow(attention, pin);
      return;
    }
    const [q, k] = at.rows === "query" ? [at.i, at.j] : [at.j, at.i];
    const whole = [at.rows, at.cols].sort().join() === "key,query";
    const chained = whole && attention.has(q, k) && byCell.includes(panel.name);
    const isPin = samePin({ q, k }, pin);
    if (chained) showChain(q, k, isPin ? "pinned" : "pointer");
    else view.showProduct({ at, panel, panels, products, badge: at === this.hovered ? "pointer" : "pinned" });
  }

  destroy() {
    this.draw.cancel();
    this.picture.destroy();
    this.overlay.remove();
    this.sheet.set(false);
    this.view.on.why.destroy();
    this.view.section.remove();
  }
}

/** Whether cells of a matrix of queries and keys, or of what follows from it, are covered. */
const isCovering = ({ covered, cols }: DrawnPanel) => Boolean(covered) && cols === "key";

/** Whether any cell of a row is covered: its largest weights would give the answer away. */
function isCovered(panel: DrawnPanel | undefined, row: number, columns: number) {
  return Array.from({ length: columns }, (_, column) => column).some((column) => panel?.covered?.(row, column));
}

const sameCell = (a: Cell, b: Cell | null) => b !== null && a.panel === b.panel && a.i === b.i && a.j === b.j;
