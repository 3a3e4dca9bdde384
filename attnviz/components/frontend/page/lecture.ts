// The keyboard shortcuts of every page: one listener on the window for keys that no element has handled, the list of
// shortcuts as a dialog, and in lecture mode two small buttons, for the list and to leave. As it is on every page, it
// also keeps the visitor's own lesson across reloads, manages the browser's history, describes the bar with the places,
// closes the side bar's drawer, has Enter apply the text, and opens warnings.

import { element, setText, span, theme } from "../core/dom.ts";
import { Hall } from "../core/hall.ts";
import { ACT, isShortcut, pressed } from "../core/keys.ts";
import { nextNumber, PendingUpdates } from "../core/pending_updates.ts";
import { keep, kept } from "../core/storage.ts";
import { Answers } from "./answers.ts";
import { followDrawer } from "./drawer.ts";
import { followPopovers } from "./popovers.ts";
import { followHints } from "./hints.ts";
import { followTextField } from "./text_field.ts";
import { followWarnings } from "./warnings.ts";
import { oneEntryEach } from "./history.ts";
import { afterArrival, afterWaiting } from "../core/waiting.ts";
import { allPaths, themeKey } from "./theme_choice.ts";
import { buttonOf, describePlaces, keyed, MAIN } from "../core/streamlit.ts";
import type { Marks } from "../marks/marks.ts";
import type { State } from "./answers.ts";

const SCROLLS: Record<string, string> = { PageDown: "scroll_on", PageUp: "scroll_back" };
const LESSON = "attnviz-lesson"; // under which the tab keeps it
const OLD = "attnviz-old"; // of the page while its fields say more than the server has answered
const TOOLS = "attnviz-tools"; // of the page while lecture mode shows Share and Export
const LATE: Record<State, string> = {
  answered: "",
  late: "The server has not answered yet.",
  old: "The server has not answered yet. What is shown is from before the last change.",
};
const PICTURES = ["explorer", "compare_picture"].map(keyed);

class Keyboard {
  host: Host;
  /** actions of the server that it has not acknowledged, each with a number: it runs none twice */
  updates: PendingUpdates<{ acts: [number, string][] }>;
  lecture = false;
  /** what each key sends */
  sends: Record<string, string> = {};
  says = element("div", { class: "lines" });
  dialog: HTMLDialogElement;
  corner: HTMLDivElement;
  question: HTMLDialogElement;
  late = element("p", { class: "late", role: "status" });
  section: HTMLElement;
  hall: Hall;
  ends = new AbortController();
  answers: Answers = new Answers((state) => this.sayLate(state));
  /** of a lesson; null where none has been open */
  marks: Promise<Marks> | null = null;

  constructor(root: HTMLElement, host: Host) {
    oneEntryEach();
    this.host = host;
    this.updates = new PendingUpdates(host, { acts: [] });
    this.dialog = element(
      "dialog",
      { "aria-labelledby": "keys-title" },
      element("h2", { id: "keys-title" }, "Keys"),
      this.says,
      element("button", { type: "button", class: "close", onclick: () => this.dialog.close() }, "Close"),
    );
    // Keys pressed in the dialog do not reach what is behind it.
    this.dialog.addEventListener("keydown", (event) => this.inDialog(this.dialog, event));
    this.corner = element(
      "div",
      { class: "corner", hidden: true },
      this.button("?", "The keys (?)", "help"),
      this.button("✕", "Leave lecture mode (L)", "lecture"),
    );
    this.question = this.leaving();
    const parts = [this.corner, this.dialog, this.question, this.late];
    this.section = element("section", { "aria-label": "Keys", style: "visibility: hidden" }, ...parts);
    root.append(this.section);
    this.hall = new Hall(this.section);
    window.addEventListener("keydown", (event) => this.key(event), { signal: this.ends.signal });
    this.updates.followLeaving(this.ends.signal);
    followDrawer(this.ends.signal);
    followTextField(this.ends.signal);
    followPopovers(this.ends.signal);
    followWarnings(this.ends.signal);
    followHints(this.ends.signal);
  }

  /** Says that the server does not answer; the style sheet of all pages fades what is old. */
  sayLate(state: State) {
    setText(this.late, LATE[state]);
    document.documentElement.classList.toggle(OLD, state === "old");
  }

  /** Asks before Esc, which many press for other reasons, ends the lecture. */
  leaving() {
    const onclick = () => {
      question.close();
      this.act("lecture");
    };
    const leave = element("button", { type: "button", class: "close", autofocus: true, onclick }, "Leave");
    const stay = element("button", { type: "button", class: "close", onclick: () => question.close() }, "Stay");
    const title = element("h2", { id: "leaving-title" }, "Leave lecture mode?");
    const question = element("dialog", { class: "leaving", "aria-labelledby": title.id }, title, leave, " ", stay);
    question.addEventListener("keydown", (event) => this.inDialog(question, event));
    return question;
  }

  button(text: string, title: string, act: string) {
    return element("button", { type: "button", title, "aria-label": title, onclick: () => this.act(act) }, text);
  }

  update(payload: Payload<KeyboardHeader> | null) {
    this.section.dataset.theme = theme(this.section);
    describePlaces();
    if (payload) this.take(payload.header);
  }

  take({ lines, lecture, lesson, in_lesson: inLesson, acknowledged }: KeyboardHeader) {
    if (inLesson) this.marks ??= import("./items.ts").then(({ followItems }) => followItems());
    this.updates.receive({}, acknowledged);
    this.updates.values = { acts: this.updates.values.acts.filter(([number]) => number > acknowledged) };
    if (typeof lesson === "string") keep(LESSON, lesson);
    // Null asks, whether there is one or not.
    else if (lesson === null || kept(LESSON)) this.host.say("lesson", kept(LESSON));
    this.lecture = lecture;
    this.corner.hidden = !lecture;
    this.hall.set(lecture);
    if (!lecture) document.documentElement.classList.remove(TOOLS);
    this.sends = Object.assign({}, ...lines.map((line) => line.sends));
    this.says.replaceChildren(
      ...lines.map(({ shown, says }) =>
        element("p", {}, span("keys", ...shown.map((key) => element("kbd", {}, key))), span("does", says)),
      ),
    );
  }

  key(event: KeyboardEvent) {
    const name = pressed(event);
    const act = name === "Escape" && this.leaves() ? "leaving" : (this.sends[name] ?? this.scrolls(name));
    if (!act || !isShortcut(event)) return;
    event.preventDefault();
    if (!event.repeat) this.act(act);
  }

  /** Esc lets go of what is pinned first; the link says whether anything is. */
  leaves() {
    const link = new URL(location.href).searchParams;
    return this.lecture && !link.has("q") && !link.has("k");
  }

  /** In lecture mode a clicker that has nothing to step through shows what lies below. */
  scrolls(name: string) {
    return this.lecture ? SCROLLS[name] : undefined;
  }

  inDialog(dialog: HTMLDialogElement, event: KeyboardEvent) {
    // Until the next frame a closed dialog still has the focus: then the key is the page's.
    if (!dialog.open) return;
    event.stopPropagation();
    if (event.key === "?" && dialog === this.dialog) dialog.close();
  }

  /** Takes the focus anew: what a closed dialog still has until the next frame would be lost then. */
  open(dialog: HTMLDialogElement) {
    const { activeElement } = this.section.getRootNode() as Document | ShadowRoot;
    if (activeElement instanceof HTMLElement && dialog.contains(activeElement)) activeElement.blur();
    dialog.showModal();
  }

  act(name: string) {
    const acts: Record<string, () => void> = {
      help: () => this.open(this.dialog),
      leaving: () => this.open(this.question),
      ...this.hall.acts,
      pin,
      theme: () => this.otherTheme(),
      tools: () => void document.documentElement.classList.toggle(TOOLS),
      scroll_on: () => scroll(1),
      scroll_back: () => scroll(-1),
    };
    /** a button of the page that does it: then the page runs as for a click, no more */
    const button: HTMLElement | null = document.querySelector(buttonOf(name));
    if (doneHere(name)) return;
    if (acts[name]) acts[name]();
    else if (button) afterWaiting(() => button.click());
    else this.ask(name);
  }

  /** Has the server do something: it is sent until the server has answered, and with what is pressed meanwhile. */
  ask(name: string) {
    const unanswered = this.updates.pending.size ? this.updates.values.acts : [];
    this.updates.set({ acts: [...unanswered, [nextNumber(), name]] }, Infinity);
    afterArrival(() => this.updates.flush());
  }

  /** Streamlit reads its theme when it starts, so the page is loaded again; the link holds the view. */
  otherTheme() {
    const other = theme(this.section) === "dark" ? "Light" : "Dark";
    try {
      for (const path of allPaths()) localStorage.setItem(themeKey(path), JSON.stringify(other));
    } catch {
      return; // storage is forbidden or full: Streamlit would start with the same theme
    }
    location.reload();
  }

  destroy() {
    this.ends.abort();
    this.updates.drop();
    this.answers.destroy();
    this.marks?.then((marks) => marks.destroy());
    this.sayLate("answered");
    this.hall.destroy();
    this.section.remove();
  }
}

/** Whether a component of the page, such as the walk, has done it. */
const doneHere = (name: string) => !window.dispatchEvent(new CustomEvent(ACT, { detail: name, cancelable: true }));

/** Brings the arrow keys to the picture, and pins its first cell where none is. */
function pin() {
  const inside = PICTURES.flatMap((css) => [...document.querySelectorAll(css)]).flatMap((host) => {
    const root = host.querySelector(".attnviz-isolated")?.shadowRoot ?? host;
    const pictures: NodeListOf<HTMLElement> = root.querySelectorAll(".attnviz-board, .attnviz-lines");
    return [...pictures];
  });
  const picture = inside.find((one) => one.checkVisibility());
  picture?.focus();
  const key = picture?.matches(".attnviz-lines") ? "ArrowDown" : "Enter";
  picture?.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
}

/** Scrolls the page by most of a screen. */
function scroll(by: number) {
  document.querySelector(MAIN)?.scrollBy({ top: by * 0.85 * window.innerHeight });
}

export default Keyboard;
