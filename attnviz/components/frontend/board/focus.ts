// Focus on one matrix of a picture: it takes the whole stage. A button beside each title focuses on it, and the same
// button, Escape or a step without this matrix show all again. In lecture mode there is a button only where it is
// needed: beside a matrix whose numbers find no room in its cells, and beside one that has the stage.

import { digitOf, numbering } from "./numbers.ts";
import { contextOf, element } from "../core/dom.ts";
import { measurer } from "../core/type.ts";
import type { Board } from "./board.ts";

const SIDE = 20; // px
const LEGIBLE = 11; // px, of numbers, for which a decimal is given up
const ABOVE = 36; // px of a button's top over its matrix; both grow with the type
const NUMBERED = [16, 32]; // rows and columns, at most, of matrices whose cells are to carry their numbers

export class Focus {
  board;
  onChoice;
  /** the matrix that is focused on */
  name: string | null = null;
  buttons = element("div", { class: "focus-buttons modebar" });

  /** `onChoice(name)` is called when the user focuses on a matrix, and with null when on none any more. */
  constructor(board: Board, onChoice: (name: string | null) => void) {
    this.board = board;
    this.onChoice = onChoice;
    board.element.append(this.buttons);
    board.element.addEventListener("attnviz-drawn", () => this.placeButtons());
    board.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** The picture with this matrix alone, if it has it; the others stay at hand for its arithmetic. */
  of(picture: BoardPicture): BoardPicture {
    const panel = picture.panels.find(({ name }) => name === this.name);
    if (!panel) return picture;
    const away = picture.panels.filter((one) => one !== panel);
    return {
      ...picture,
      panels: [{ ...panel, bar: true, legible: LEGIBLE }],
      away,
      grid: [[0]],
      widths: [1],
      heights: [1],
      between: null,
    };
  }

  /** Puts a button beside the title of each matrix. */
  placeButtons() {
    const { places, changing } = this.board;
    this.buttons.hidden = changing;
    this.buttons.toggleAttribute("data-alone", this.name !== null);
    if (!places || changing) return;
    const known = [...this.buttons.children].map((one) => one as HTMLElement);
    const wanted = places.length > 1 || this.name !== null ? places : [];
    const { unit } = this.board.type;
    const shown = wanted.map((place) => {
      const { panel, x, y } = place;
      const made = known.find(({ dataset }) => dataset.panel === panel.name) ?? this.makeButton(panel.name);
      const says = this.name === null ? `Focus on ${panel.title}` : "Show all matrices";
      Object.assign(made, { title: says, ariaLabel: says, textContent: this.name === null ? "⤢" : "✕" });
      made.toggleAttribute("data-needed", this.name !== null || this.lacksNumbers(place));
      Object.assign(made.style, { left: `${Math.max(0, x - SIDE * unit)}px`, top: `${y - ABOVE * unit}px` });
      return made;
    });
    if (shown.length !== known.length || shown.some((one, n) => one !== known[n])) {
      this.buttons.replaceChildren(...shown);
    }
  }

  /** Whether a small matrix has cells without numbers. */
  lacksNumbers({ panel, width, height }: Place) {
    const [rows, columns] = panel.shape;
    if (rows > NUMBERED[0] || columns > NUMBERED[1]) return false;
    const { canvas, font, type } = this.board;
    const digit = digitOf(measurer(contextOf(canvas), `100px ${font}`)("0"));
    return !numbering(panel, { width: width / columns, height: height / rows }, type, digit);
  }

  makeButton(panel: string) {
    const made = element("button", { type: "button", dataset: { panel } });
    made.addEventListener("pointerdown", (event) => event.stopPropagation());
    made.addEventListener("click", (event) => {
      event.stopPropagation();
      this.onChoice(this.name === null ? panel : null);
    });
    return made;
  }

  /** What is pinned is let go of first. */
  key(event: KeyboardEvent) {
    const { query, key } = this.board.lights.pinned;
    if (event.key !== "Escape" || this.name === null || query !== null || key !== null) return;
    event.preventDefault();
    event.stopPropagation();
    this.onChoice(null);
  }
}
