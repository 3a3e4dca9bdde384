// The logit lens of the chosen draw: what the final norm and the output layer make of the state after each block.

import { element, span } from "../core/dom.ts";
import { fixed } from "../core/format.ts";
import { nameOf, percent } from "./words.ts";

const NONE = "There is no logit lens: the layers of this model do not add to one stream.";

export class LensPanel {
  table: HTMLTableElement;
  note: HTMLParagraphElement;
  room: HTMLDivElement;

  constructor(root: HTMLElement) {
    this.table = element("table", {});
    this.note = element("p", { class: "reading" });
    this.room = element("div", { class: "table" }, this.table);
    root.append(element("h2", {}, "Logit lens: what each layer would say"), this.room, this.note);
  }

  /** @param own the drawn character */
  update(lens: { id: number; probability: number }[][] | null, { model }: GenerationHeader, own: number) {
    this.room.hidden = !lens;
    const plain = "Of all characters, at T = 1. Only the last row is what the model was trained for.";
    this.note.textContent = lens ? plain : NONE;
    if (!lens) return;
    const rows = lens.map((tokens, p) => {
      const state = p === 0 ? "embeddings" : `after block ${p - 1}`;
      const cells = tokens.map(({ id, probability }) => {
        const made = element("td", {}, span("name", nameOf(model, id)), span("share", fixed(probability, 2)));
        made.style.setProperty("--share", String(probability));
        made.classList.toggle("own", id === own);
        const said = `${state}: “${nameOf(model, id)}” ${percent(probability)}`;
        made.addEventListener("pointerenter", () => (this.note.textContent = said));
        made.addEventListener("pointerleave", () => (this.note.textContent = plain));
        return made;
      });
      return element("tr", {}, element("th", { scope: "row" }, state), ...cells);
    });
    this.table.replaceChildren(element("tbody", {}, ...rows));
  }
}
