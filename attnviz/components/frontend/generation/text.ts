// The text as characters: the prompt in grey, each drawn one on the colour of its probability, one of them chosen.

import { element, span } from "../core/dom.ts";
import { nameOf, percent } from "./words.ts";
import type { Draws } from "./draws.ts";

export class Text {
  room: HTMLDivElement;
  /** the prompt's characters, then the drawn ones */
  all: HTMLElement[];
  /** how each is written: only what changes is written anew */
  looks: { share: string; look: string }[];
  given: number;
  chosen: number;
  draws: Draws | null;

  constructor(root: HTMLElement, onChoose: (n: number) => void) {
    this.room = element("div", { class: "text", tabIndex: 0, role: "group", "aria-label": "Generated text" });
    this.room.addEventListener("click", (event) => {
      const [target] = event.composedPath();
      const n = target instanceof HTMLElement ? target.dataset.n : undefined;
      if (n !== undefined) onChoose(Number(n));
    });
    root.append(this.room);
    this.all = [];
    this.looks = [];
    this.given = 0;
    this.chosen = -1;
    this.draws = null;
  }

  show({ model, prompt }: GenerationHeader, draws: Draws) {
    if (this.draws === draws) return;
    this.draws = draws;
    this.given = prompt.length;
    this.chosen = -1;
    this.all = [...prompt, ...draws.ids].map((id, at) => {
      const made = span(at < prompt.length ? "given" : "drawn", visible(model, id));
      if (at >= prompt.length) {
        const n = at - prompt.length;
        made.dataset.n = String(n);
        made.title = `“${nameOf(model, id)}”: probability ${percent(draws.probability(n))}`;
      }
      return made;
    });
    this.looks = this.all.map(({ className }) => ({ share: "", look: className }));
    this.room.replaceChildren(...this.all);
  }

  /**
   * Marks the chosen character, colours the text by the weights of the context, and hides what is drawn later.
   */
  mark(n: number, { weights, hidesLater }: { weights: Float32Array | null; hidesLater: boolean }) {
    const { draws, given } = this;
    if (!draws) return;
    const first = given + n - (weights?.length ?? 0);
    const most = weights ? Math.max(...weights, 1e-9) : 1;
    this.room.classList.toggle("by-weight", weights !== null);
    this.all.forEach((_, at) => {
      const inContext = weights && at >= first && at < given + n;
      const share = weights
        ? inContext
          ? weights[at - first] / most
          : 0
        : at < given
          ? 0
          : draws.probability(at - given);
      const marks = {
        later: hidesLater && at > given + n,
        chosen: at === given + n,
        outside: weights !== null && at < first,
      };
      this.write(at, share.toFixed(4), [at < given ? "given" : "drawn", ...namesOf(marks)].join(" "));
    });
    if (n !== this.chosen) this.reveal(this.all[given + n]);
    this.chosen = n;
  }

  write(at: number, share: string, look: string) {
    const [made, before] = [this.all[at], this.looks[at]];
    if (share !== before.share) made.style.setProperty("--share", share);
    if (look !== before.look) made.className = look;
    this.looks[at] = { share, look };
  }

  /** Scrolls the text, not the page. */
  reveal(made: HTMLElement | undefined) {
    if (!made) return;
    const { room } = this;
    const top = made.offsetTop; // in the room, which is positioned
    if (top < room.scrollTop) room.scrollTop = top;
    const below = top + made.offsetHeight - room.clientHeight;
    if (below > room.scrollTop) room.scrollTop = below;
  }
}

/** The names of what is true. */
const namesOf = (marks: Record<string, boolean>) => Object.keys(marks).filter((name) => marks[name]);

/** A character as the text shows it: a line break is seen, and breaks the line. */
export function visible(model: GenerationModel, id: number) {
  const character = model.characters[id] ?? "?";
  if (character === "\n") return "↵\n";
  return character === " " ? " " : nameOf(model, id);
}
