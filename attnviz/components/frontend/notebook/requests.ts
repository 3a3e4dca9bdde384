// Asks the kernel for bytes, by messages of the widget: a kernel answers when it is idle.

const LONGEST = 30_000; // ms

let count = 0; // of all requests of this page: views of one widget hear each other's answers
const PAGE = Math.random().toString(36).slice(2);

/** The bytes of a buffer, in memory of their own. */
export const bytesOf = ({ buffer, byteOffset, byteLength }: DataView) =>
  new Uint8Array((buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength));

export class Requests {
  model: WidgetModel;
  waiting: Map<string, { done: (bytes: Uint8Array<ArrayBuffer>) => void; fail: (error: Error) => void }>;

  constructor(model: WidgetModel) {
    this.model = model;
    this.waiting = new Map();
    this.answer = this.answer.bind(this);
    model.on("msg:custom", this.answer);
  }

  /**
   * Sends a request; resolves with the bytes of the answer.
   * @throws {Error} the kernel says why not, or says nothing
   */
  ask(content: Record<string, unknown>): Promise<Uint8Array<ArrayBuffer>> {
    count += 1;
    const number = `${PAGE}-${count}`;
    return new Promise((done, fail) => {
      this.waiting.set(number, { done, fail });
      setTimeout(() => this.settle(number)?.fail(new Error("the kernel has not answered")), LONGEST);
      this.model.send({ ...content, number });
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
    this.model.off("msg:custom", this.answer);
    this.waiting.clear();
  }
}
