// Notices when the server does not answer what the page has sent, though the connection is open: Streamlit shows
// nothing until it answers, so a new text would stand beside the old text's numbers.

import { FIELDS } from "../core/streamlit.ts";

const SLOW = 1000; // ms
const STREAM = "/_stcore/stream";
const RERUN = 0x5a; // the first byte of a message that asks for a run: BackMsg.rerun_script, field 11
const [BEGINS, ENDS] = [4, 6]; // the fields of a ForwardMsg that say: a run has begun (new_session), or has ended
const SHOWN = 200; // ms until the fields have what a run that has ended writes into them
const TOUCHES = ["focusin", "pointerdown", "keydown"]; // nobody changes a field without one of them

/** `old`: late, and fields say something that the server has not read */
export type State = "answered" | "late" | "old";

const watching: Set<Answers> = new Set();
let isHearing = false;

/** Hears what Streamlit sends and gets, over the connection that it has opened or will open. */
function hear() {
  if (isHearing) return;
  isHearing = true;
  const known = new WeakSet();
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (data) {
    if (this.url.includes(STREAM)) {
      if (!known.has(this)) {
        this.addEventListener("message", ({ data: answer }) => {
          const field = runFieldOf(answer);
          if (field === BEGINS) watching.forEach((one) => one.answered());
          if (field === ENDS) watching.forEach((one) => one.ended());
        });
      }
      known.add(this);
      if (data instanceof Uint8Array && data[0] === RERUN) watching.forEach((one) => one.sent());
    }
    send.call(this, data);
  };
}

export class Answers {
  onChange;
  state: State = "answered";
  /** what the fields said when the last message was sent before a run began, or after that run */
  known: Fields;
  /** what they said when the last one was sent */
  asked: Fields;
  /** from the first message without an answer */
  timer: number | undefined;
  /** whether a message waits for an answer */
  isSent = false;
  /** from the end of a run */
  settling: number | undefined;
  ends = new AbortController();

  constructor(onChange: (state: State) => void) {
    this.onChange = onChange;
    this.known = this.asked = fields();
    watching.add(this);
    hear();
    const options = { capture: true, signal: this.ends.signal };
    for (const event of TOUCHES) window.addEventListener(event, () => this.meet(), options);
  }

  /** Takes note of fields that were drawn late, before somebody changes them. */
  meet() {
    for (const [field, said] of fields()) if (!this.known.has(field)) this.known.set(field, said);
  }

  sent() {
    this.asked = fields();
    this.isSent = true;
    if (this.state !== "answered") this.set(stateNow(this.known));
    else this.timer ??= window.setTimeout(() => this.set(stateNow(this.known)), SLOW);
  }

  answered() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isSent = false;
    this.known = this.asked;
    this.set("answered");
  }

  /** Takes note of what the run has written into the fields. What somebody types meanwhile is not sent yet. */
  ended() {
    clearTimeout(this.settling);
    this.settling = window.setTimeout(() => {
      if (this.isSent) return;
      const now = fields();
      const typed = document.activeElement;
      const before = typed && this.known.get(typed);
      if (typed && before !== undefined && before !== null) now.set(typed, before);
      this.known = this.asked = now;
    }, SHOWN);
  }

  set(state: State) {
    if (state === this.state) return;
    this.state = state;
    this.onChange(state);
  }

  destroy() {
    clearTimeout(this.timer);
    clearTimeout(this.settling);
    this.ends.abort();
    watching.delete(this);
  }
}

type Fields = Map<Element, string>;

const stateNow = (known: Fields): State => (isOther(known, fields()) ? "old" : "late");

/** Whether a field that was there before says something else now. */
const isOther = (before: Fields, now: Fields) =>
  [...now].some(([field, said]) => before.has(field) && before.get(field) !== said);

/** What the page's own fields say, of Streamlit's: those of components are in shadow roots. */
function fields(): Fields {
  const all = [...document.querySelectorAll(FIELDS)];
  return new Map(all.map((field) => [field, wordsOf(field)]));
}

function wordsOf(field: Element) {
  if (field instanceof HTMLInputElement) return `${field.value} ${field.checked}`;
  if (field instanceof HTMLTextAreaElement) return field.value;
  return `${field.textContent} ${field.getAttribute("aria-checked")}`;
}

/** Which of the two fields a message of the server has among its outermost ones; null if neither. */
function runFieldOf(message: unknown) {
  if (!(message instanceof ArrayBuffer)) return null;
  const bytes = new Uint8Array(message);
  let at = 0;
  const number = () => {
    let value = 0;
    for (let factor = 1; at < bytes.length; factor *= 128) {
      const byte = bytes[at];
      at += 1;
      value += (byte % 128) * factor;
      if (byte < 128) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const tag = number();
    const value = number();
    if (tag >> 3 === BEGINS || tag >> 3 === ENDS) return tag >> 3;
    if (tag % 8 === 2) at += value;
  }
  return null;
}
