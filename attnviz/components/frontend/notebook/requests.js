// Asks the kernel for bytes, by messages of the widget: a kernel answers when it is idle.

const LONGEST = 30_000; // ms

let count = 0; // of all requests of this page: views of one widget hear each other's answers
const PAGE = Math.random().toString(36).slice(2);

/** The bytes of a buffer, in memory of their own. @param {DataView} view */
export const bytesOf = ({ buffer, byteOffset, byteLength }) =>
  new Uint8Array(/** @type {ArrayBuffer} */ (buffer).slice(byteOffset, byteOffset + byteLength));

export class Requests {
  /** @param {WidgetModel} model */
  constructor(model) {
    this.model = model;
    /** @type {Map<string, { done: (bytes: Uint8Array<ArrayBuffer>) => void, fail: (error: Error) => void }>} */
    this.waiting = new Map();
    this.answer = this.answer.bind(this);
    model.on("msg:custom", this.answer);
  }

  /**
   * Sends a request; resolves with the bytes of the answer.
   * @param {Record<string, unknown>} content @returns {Promise<Uint8Array<ArrayBuffer>>}
   * @throws {Error} the kernel says why not, or says nothing
   */
  ask(content) {
    count += 1;
    const number = `${PAGE}-${count}`;
    return new Promise((done, fail) => {
      this.waiting.set(number, { done, fail });
      setTimeout(() => this.settle(number)?.fail(new Error("the kernel has not answered")), LONGEST);
      this.model.send({ ...content, number });
    });
  }

  /** @param {{ number?: string, error?: string }} message @param {DataView[]} buffers */
  answer({ number = "", error }, buffers) {
    const asked = this.settle(number);
    if (error) asked?.fail(new Error(error));
    else asked?.done(bytesOf(buffers[0]));
  }

  /** Who waits for an answer, which nobody else may give then. @param {string} number */
  settle(number) {
    const asked = this.waiting.get(number);
    this.waiting.delete(number);
    return asked;
  }

  destroy() {
    this.model.off("msg:custom", this.answer);
    this.waiting.clear();
  }
}
