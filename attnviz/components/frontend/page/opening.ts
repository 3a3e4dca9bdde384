// What a newcomer reads above the picture: what this is, the models to begin with, and three ways to begin. It goes
// away once a way is used or anything is changed, and comes back by an entry of the menu "More".

import { element } from "../core/dom.ts";
import { pageLinks, TEXT_FIELD } from "../core/streamlit.ts";
import { template, write } from "../core/template.ts";
import type { Walk } from "../walk/walk.ts";

const SAYS = "shows what attention computes, down to the last number, in";

export class Opening {
  section: HTMLElement;
  help: HTMLButtonElement = button("What this is, and how to begin", "", "help", () =>
    this.show(Boolean(this.section.hidden)),
  );

  says = element("p");
  models = element("div", { class: "models", role: "group", "aria-label": "Models to begin with" });
  open;

  /** @param walk below it; `open` opens a first view by its name */
  constructor(walk: Walk, { server, open }: { server: string; open: (name: string) => void }) {
    this.open = open;
    const lesson = element("a", { href: `${server}/lessons`, class: "door" }, "Start a lesson");
    lesson.addEventListener("click", (event) => this.visit(event, lesson));
    this.section = element(
      "section",
      { class: "opening", role: "group", "aria-label": "What this is", hidden: true },
      this.says,
      element(
        "div",
        { class: "doors", role: "group", "aria-label": "Ways to begin" },
        door("Play the walk", () => {
          this.show(false);
          walk.playing.start();
        }),
        door("Your own sentence", () => this.type()),
        lesson,
        button("✕", "Close", "close", () => this.show(false)),
      ),
      this.models,
    );
    walk.element.before(this.section);
    walk.stepper.add(this.help);
    this.show(false);
  }

  /** Says what computes the attention on the page, and offers the other models to begin with. */
  offer(first: FirstView[]) {
    const { says } = first.find(({ shown }) => shown) ?? first[0] ?? { says: "a model" };
    write(this.says, template("b", {}, "attnviz"), ` ${SAYS} ${says}.`);
    const choices = first.map(({ name, title, shown }) =>
      template(
        "button",
        { key: name, type: "button", "aria-pressed": String(shown), onclick: () => shown || this.open(name) },
        title,
      ),
    );
    write(this.models, ...(first.length > 1 ? choices : []));
  }

  show(isShown: boolean) {
    this.section.hidden = !isShown;
    this.help.setAttribute("aria-expanded", String(isShown));
  }

  /** Puts the cursor into the text field. */
  type() {
    this.show(false);
    const field = document.querySelector<HTMLTextAreaElement>(TEXT_FIELD);
    field?.focus();
    field?.select();
  }

  /** Opens a page without loading the app anew, where the navigation has a link to it. */
  visit(event: MouseEvent, link: HTMLAnchorElement) {
    this.show(false);
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const same = [...pageLinks()].find(({ href }) => new URL(href).pathname === new URL(link.href).pathname);
    if (!same) return;
    event.preventDefault();
    same.click();
  }
}

const door = (label: string, act: () => void) => button(label, "", "door", act);

function button(text: string, says: string, kind: string, onclick: () => void) {
  const look = { type: "button", class: kind, ...(says && { title: says, "aria-label": says }) };
  return element("button", { ...look, onclick }, text);
}
