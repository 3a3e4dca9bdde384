// Fetches the files of heads: those to be shown at once, and while none of them is on its way, those likely to be next.

import { bytesOf, fetchArrays, keptArrays } from "../core/arrays.js";

const AT_ONCE = 4; // requests; a browser opens six connections to a server, and the page needs some of them

export class Loader {
  /**
   * `onChange` is called when a wanted file has come, or won't.
   * @param {import("../core/arrays.js").Source} source @param {() => void} onChange
   */
  constructor(source, onChange) {
    this.source = source;
    this.onChange = onChange;
    this.trace = "";
    this.received = 0; // bytes, for this trace
    /** @type {string[]} */
    this.wanted = [];
    /** @type {string[]} */
    this.ahead = [];
    /** @type {Set<string>} */
    this.coming = new Set();
    /** @type {Set<string>} */
    this.failed = new Set();
  }

  /**
   * Fetches what is shown, the most important first. It replaces what was wanted before and is not yet on its way.
   * @param {string[]} digests
   */
  want(digests) {
    this.wanted = [...new Set(digests)].filter(Boolean);
    if (this.wanted.some((digest) => this.isMissing(digest))) this.ahead = [];
    this.next();
  }

  /**
   * Fetches these too, one at a time.
   * @param {string[]} digests
   */
  fetchAhead(digests) {
    this.ahead = digests;
    this.next();
  }

  /** Whether something that is shown is on its way. */
  get waits() {
    return this.wanted.some((digest) => !keptArrays(digest) && !this.failed.has(digest));
  }

  /**
   * Whether all attempts to fetch a file have failed.
   * @param {string} digest
   */
  lost(digest) {
    return this.failed.has(digest);
  }

  /** Tries again what has failed. */
  retry() {
    this.failed.clear();
  }

  /**
   * Takes note of a new payload.
   * @param {string} trace
   */
  begin(trace) {
    this.retry();
    if (trace === this.trace) return;
    Object.assign(this, { trace, received: 0, ahead: [] });
  }

  destroy() {
    this.onChange = () => {};
    this.wanted = this.ahead = [];
  }

  /** @param {string} digest */
  isMissing(digest) {
    return !keptArrays(digest) && !this.coming.has(digest) && !this.failed.has(digest);
  }

  next() {
    for (const digest of this.wanted) {
      if (this.coming.size < AT_ONCE && this.isMissing(digest)) this.fetch(digest);
    }
    const likely = this.ahead.find((digest) => this.isMissing(digest));
    if (!this.coming.size && likely) this.fetch(likely);
  }

  /** @param {string} digest */
  async fetch(digest) {
    this.coming.add(digest);
    try {
      const arrays = await fetchArrays(digest, this.source);
      this.received += bytesOf(arrays);
    } catch {
      this.failed.add(digest);
    }
    this.coming.delete(digest);
    if (this.wanted.includes(digest)) this.onChange();
    this.next();
  }
}
