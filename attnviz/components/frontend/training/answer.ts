// What the model answers after each token of the text, at the shown snapshot.

import { element, span } from "../core/dom.ts";
import { percent } from "./words.ts";

export class Answer {
  list: HTMLOListElement;
  section: HTMLElement;
  written: HTMLParagraphElement;
  key: string;
  items: { said: HTMLElement; item: HTMLElement }[];

  constructor(root: HTMLElement) {
    this.list = element("ol", { class: "answer" });
    this.section = element(
      "section",
      { class: "answers", "aria-label": "The model's answer" },
      element("h2", {}, "Its answer after each token"),
      this.list,
    );
    this.written = element("p", { class: "written", hidden: true });
    this.section.append(this.written);
    root.append(this.section);
    this.key = "";
    this.items = [];
  }

  update({ read, first, answers, right }: TrainingTask, { answer, probability, written }: TrainingMoment) {
    const key = JSON.stringify(read);
    if (key !== this.key) {
      this.key = key;
      this.items = read.map((token) => {
        const said = span("said");
        return { said, item: element("li", {}, span("token", token), said) };
      });
      this.list.replaceChildren(...this.items.map(({ item }) => item));
    }
    this.items.forEach(({ said, item }, n) => {
      if (n < first) return unanswered(said, item);
      const share = probability[n];
      said.textContent = answers[answer[n]] ?? "";
      item.style.setProperty("--share", String(share));
      item.title = `after ${n} “${read[n]}”: “${said.textContent}” with ${percent(share)}`;
    });
    this.section.hidden = !read.length;
    this.written.hidden = written === null || !right;
    if (written === null || !right) return;
    const isRight = written === right;
    this.written.dataset.right = String(isRight);
    const verdict = isRight ? "✓ right" : `✗ right is ${right}`;
    this.written.replaceChildren("It writes ", element("b", {}, written || "nothing"), " ", span("verdict", verdict));
  }
}

/** Leave a token without an answer: it belongs to the question. */
function unanswered(said: HTMLElement, item: HTMLElement) {
  said.textContent = "";
  item.style.removeProperty("--share");
  item.removeAttribute("title");
}
