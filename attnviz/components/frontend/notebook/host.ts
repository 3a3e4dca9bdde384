// A notebook as the host of a view: the kernel has its files, and the widget's traits say what is chosen. Both are in
// attnviz/notebook/widgets.py.

const LONGEST = 30_000; // ms: a kernel answers when it is idle

let count = 0; // of all requests of this page: views of one widget hear each other's answers
const PAGE = Math.random().toString(36).slice(2);

/** The bytes of a buffer, in memory of their own. */
export const bytesOf = ({ buffer, byteOffset, byteLength }: DataView) =>
  new Uint8Array((buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength));

export class NotebookHost implements Host {
  server = "";
  model: WidgetModel;
  /** of the traits that say what is chosen */
  names: readonly string[];
  /** files that came with the widget */
  here: Record<string, DataView<ArrayBuffer>>;
  waiting = new Map<string, { done: (bytes: Uint8Array<ArrayBuffer>) => void; fail: (error: Error) => void }>();
  /** ends what listens to the model */
  ends: (() => void)[] = [];
  isSending = false;

  constructor(model: WidgetModel, names: readonly string[], here: Record<string, DataView<ArrayBuffer>> = {}) {
    this.model = model;
    this.names = names;
    this.here = here;
    this.listen("msg:custom", (answer, buffers) => this.answer(answer, buffers));
  }

  listen(event: string, listener: (...all: any[]) => void) {
    this.model.on(event, listener);
    this.ends.push(() => this.model.off(event, listener));
  }

  // ---- what is chosen

  /** What the traits say. */
  get chosen() {
    return Object.fromEntries(this.names.map((name) => [name, this.model.get(name)]));
  }

  /** Calls a function when the notebook changes a trait. */
  follow(listener: () => void) {
    const heard = () => this.isSending || listener();
    for (const name of this.names) this.listen(`change:${name}`, heard);
  }

  /** Writes into the traits what the user has changed. */
  send({ values }: { values: object }) {
    const changed = Object.entries(values).filter(([name]) => this.names.includes(name));
    this.isSending = true; // each trait that is set is heard of at once, when the others are still the old ones
    for (const [name, value] of changed) this.model.set(name, value);
    this.isSending = false;
    if (changed.length) this.model.save_changes();
    return true;
  }

  say() {}

  // ---- files

  /** @throws {Error} the kernel says why there is no such file, or says nothing */
  async request(name: string) {
    return new Response(Object.hasOwn(this.here, name) ? this.here[name] : await this.ask(name));
  }

  ask(file: string): Promise<Uint8Array<ArrayBuffer>> {
    count += 1;
    const number = `${PAGE}-${count}`;
    return new Promise((done, fail) => {
      this.waiting.set(number, { done, fail });
      setTimeout(() => this.settle(number)?.fail(new Error("the kernel has not answered")), LONGEST);
      this.model.send({ file, number });
    });
  }

  answer({ number = "", error }: { number?: string; error?: string }, buffers: DataView[]) {
    const asked = this.settle(number);
    if (error) asked?.fail(new Error(error));
    else asked?.done(bytesOf(buffers[0]));
  }

  /** Who waits for an answer, which nobody else may give then. */
  settle(number: string) {
    const asked = this.waiting.get(number);
    this.waiting.delete(number);
    return asked;
  }

  destroy() {
    for (const end of this.ends) end();
    // Another view may wait for the same file: it asks for it again.
    for (const number of [...this.waiting.keys()]) this.settle(number)?.fail(new Error("the view is gone"));
  }
}
