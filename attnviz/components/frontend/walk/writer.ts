// Fetches the script that writes on, when a model is shown that writes.

import type { Writing } from "./writing.ts";

type Written = Parameters<Writing["show"]>;

export class Writer {
  /** null until its script is here */
  writing: Writing | null = null;
  fetching: Promise<void> | null = null;
  last: Written | null = null;
  draw;

  /** @param draw called when there is something new to show */
  constructor(draw: () => void) {
    this.draw = draw;
  }

  /** Takes what the page offers, and the text that the model reads. */
  show(...last: Written) {
    this.last = last;
    if (this.writing) this.writing.show(...last);
    else if (last[0].writes) this.fetching ??= this.fetch();
  }

  async fetch() {
    try {
      const { Writing } = await import("./writing.ts");
      this.writing = new Writing(this.draw);
      if (this.last) this.writing.show(...this.last);
      this.draw();
    } catch {
      this.fetching = null; // the next row or text tries again
    }
  }
}
