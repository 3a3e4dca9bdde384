// The text as characters: the prompt in grey, each drawn one on the colour of its probability, one of them chosen.

import { element } from "../core/dom.ts";
import { percent } from "../core/format.ts";
import { span, template, write } from "../core/template.ts";
import { nameOf } from "./words.ts";
import type { Template } from "../core/template.ts";
import type { Draws } from "./draws.ts";

export class Text {
  room: HTMLDivElement;
  draws: Draws | null = null;
  chosen: Element | null = null;
  /** the prompt's, then the drawn ones; of thousands, only those are described anew whose look is another */
  characters: Template[] = [];
  looks: string[] = [];

  constructor(onChoose: (n: number) => void) {
    const about = { class: "text", dataset: { item: "text" }, "aria-label": "Generated text" };
    this.room = element("div", { ...about, tabIndex: 0, role: "group" });
    this.room.addEventListener("click", (event) => {
      const [target] = event.composedPath();
      const n = target instanceof HTMLElement ? target.dataset.n : undefined;
      if (n !== undefined) onChoose(Number(n));
    });
  }

  /**
   * Shows the characters, with the chosen one marked, and colours them by the weights of the context.
   * @param weights of the chosen head; null for none
   */
  update(
    { model, prompt }: GenerationHeader,
    draws: Draws,
    n: number,
    weights: Float32Array | null,
    hidesLater: boolean,
  ) {
    const given = prompt.length;
    const first = given + n - (weights?.length ?? 0);
    const most = weights ? Math.max(...weights, 1e-9) : 1;
    const shareOf = (at: number) => {
      if (weights) return at >= first && at < given + n ? weights[at - first] / most : 0;
      return at < given ? 0 : draws.probability(at - given);
    };
    this.room.classList.toggle("by-weight", weights !== null);
    if (draws !== this.draws) Object.assign(this, { draws, chosen: null, characters: [], looks: [] });
    for (const [at, id] of [...prompt, ...draws.ids].entries()) {
      const marks = {
        [at < given ? "given" : "drawn"]: true,
        later: hidesLater && at > given + n,
        chosen: at === given + n,
        outside: weights !== null && at < first,
      };
      const [names, share] = [namesOf(marks), shareOf(at).toFixed(4)];
      if (this.looks[at] === names + share) continue;
      this.looks[at] = names + share;
      this.characters[at] = characterOf(model, id, names, share, at < given ? null : at - given, draws);
    }
    write(this.room, ...this.characters);
    const chosen = this.room.children[given + n];
    if (chosen !== this.chosen && chosen instanceof HTMLElement) this.reveal(chosen);
    this.chosen = chosen;
  }

  /** Scrolls the text, not the page. */
  reveal(chosen: HTMLElement) {
    const { room } = this;
    const top = chosen.offsetTop; // in the room, which is positioned
    if (top < room.scrollTop) room.scrollTop = top;
    const below = top + chosen.offsetHeight - room.clientHeight;
    if (below > room.scrollTop) room.scrollTop = below;
  }
}

/** @param n which draw it is of; null for one of the prompt */
function characterOf(model: GenerationModel, id: number, look: string, share: string, n: number | null, draws: Draws) {
  const name = nameOf(model, id);
  const about =
    n === null ? {} : { dataset: { n }, title: `“${name}”: probability ${percent(draws.probability(n), 1)}` };
  return template("span", { class: look, style: { "--share": share }, ...about }, visible(model, id));
}

/** The names of what is true. */
const namesOf = (marks: Record<string, boolean>) =>
  Object.keys(marks)
    .filter((name) => marks[name])
    .join(" ");

/** A text under its title, beside another one. @param look the class of a character, by its id and its place */
export const textBeside = (
  model: GenerationModel,
  title: string,
  ids: number[],
  look: (id: number, n: number) => string,
) =>
  template(
    "div",
    {},
    template("h3", {}, title),
    template("div", { class: "text" }, ...ids.map((id, n) => span(look(id, n), visible(model, id)))),
  );

/** A character as the text shows it: a line break is seen, and breaks the line. */
export function visible(model: GenerationModel, id: number) {
  const character = model.characters[id] ?? "?";
  if (character === "\n") return "↵\n";
  return character === " " ? " " : nameOf(model, id);
}
