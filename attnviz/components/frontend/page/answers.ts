// Notices when the server does not answer what the page has sent, though the connection is open: Streamlit shows
// nothing until it answers, so a new text would stand beside the old text's numbers.

const SLOW = 1000; // ms
const STREAM = "/_stcore/stream";
const RERUN = 0x5a; // the first byte of a message that asks for a run: BackMsg.rerun_script, field 11
const FIELDS = "input, textarea, [data-testid=stSelectbox], [data-testid=stButtonGroup] button";

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
      if (!known.has(this)) this.addEventListener("message", () => watching.forEach((one) => one.answered()));
      known.add(this);
      if (data instanceof Uint8Array && data[0] === RERUN) watching.forEach((one) => one.sent());
    }
    send.call(this, data);
  };
}

export class Answers {
  onChange;
  state: State;
  known: string;
  /** from the first message without an answer */
  timer: number | undefined;

  constructor(onChange: (state: State) => void) {
    this.onChange = onChange;
    this.state = "answered";
    this.known = fields(); // when the server answered last
    this.timer = undefined;
    watching.add(this);
    hear();
  }

  sent() {
    if (this.state !== "answered") this.set(stateNow(this.known));
    else this.timer ??= window.setTimeout(() => this.set(stateNow(this.known)), SLOW);
  }

  answered() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.known = fields();
    this.set("answered");
  }

  set(state: State) {
    if (state === this.state) return;
    this.state = state;
    this.onChange(state);
  }

  destroy() {
    clearTimeout(this.timer);
    watching.delete(this);
  }
}

const stateNow = (known: string): State => (fields() === known ? "late" : "old");

/** What the page's own fields say, of Streamlit's: those of components are in shadow roots. */
function fields() {
  return [...document.querySelectorAll(FIELDS)]
    .map((one) =>
      one instanceof HTMLInputElement || one instanceof HTMLTextAreaElement
        ? `${one.value} ${"checked" in one && one.checked}`
        : `${one.textContent} ${one.getAttribute("aria-checked")}`,
    )
    .join("\n");
}
