// What is said of a row that is guessed, with a button that reveals it. It keeps its room until another step is shown,
// so that the picture below stays where it is.

import { element, isAsBefore, setText } from "./dom.ts";
import { number } from "./format.ts";
import { buttonOf } from "./streamlit.ts";
import { Guess, guessText } from "./guess.ts";
import type { GuessWords } from "./guess.ts";

/** What is said now, and once the row is no longer guessed. */
export interface Guessed {
  said: string;
  answer: string;
  isOpen: boolean;
}

export class GuessLine {
  root: HTMLDivElement;
  text = element("p", { role: "status" });
  button = element("button", { type: "button" }, "Reveal");
  /** what the last guess was of, and its answer */
  kept: { of: unknown[]; answer: string } | null = null;

  constructor(reveal: () => void) {
    this.button.addEventListener("click", reveal);
    this.root = element("div", { class: "guess", hidden: true }, this.text, this.button);
  }

  /**
   * The bar of a lesson that asks has a button of its own.
   * @param guessed null where nothing is
   * @param of what is shown: the answer stays as long as it is the same
   * @param unfit what of a link is not there
   */
  show(guessed: Guessed | null, of: unknown[], unfit: string) {
    if (guessed) this.kept = { of, answer: guessed.answer };
    else if (this.kept && !isAsBefore(of, this.kept.of)) this.kept = null;
    const said = [unfit, guessed?.said ?? this.kept?.answer ?? ""].filter(Boolean).join(" ");
    setText(this.text, said);
    this.root.hidden = !said;
    this.button.style.visibility = guessed?.isOpen ? "" : "hidden";
    this.button.hidden = this.kept === null || document.querySelector(buttonOf("lesson_reveal")) !== null;
  }
}

/** What is said of a guess. @param values of its row */
export function judged(guess: Guess, values: ArrayLike<number>, words: Omit<GuessWords, "number">): Guessed {
  const revealed = Object.assign(new Guess(guess.row), { tried: guess.tried, isOpen: false });
  const [said, answer] = [guess, revealed].map((one) =>
    guessText(one, values, { ...words, number: (value) => number(value, 2) }),
  );
  return { said, answer, isOpen: guess.isOpen };
}
