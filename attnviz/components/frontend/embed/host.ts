// A page of its own as the host of a view: it holds the files, and its address says what is chosen.

import { Refused } from "../core/files.ts";
import { settings } from "./page.ts";

export class PageHost implements Host {
  server = "";
  files: Arrays;
  changed: (values: Record<string, unknown>) => void;

  /**
   * @param files by the names under which the view requests them
   * @param changed is called with what the user has changed
   */
  constructor(files: Arrays = {}, changed: (values: Record<string, unknown>) => void = () => {}) {
    this.files = files;
    this.changed = changed;
  }

  /** @throws {Refused} the page does not hold the file */
  async request(name: string) {
    if (!Object.hasOwn(this.files, name)) throw new Refused(settings.missing);
    return new Response(this.files[name].data as BufferSource);
  }

  send({ values }: { values: Record<string, unknown> }) {
    this.changed(values);
    return true;
  }

  say() {}
}
