// One file at a time, of what is looked at last: asked of the server once it has been looked at for a moment.

import { fetchArrays } from "../core/arrays.js";

const CALM = 200; // ms: keys run through many snapshots

/** @typedef {import("../core/arrays.js").Source} Source */

export class Latest {
  /** @param {Source} source @param {() => void} onCome */
  constructor(source, onCome) {
    this.source = source;
    this.onCome = onCome;
    this.address = "";
    /** @type {Arrays | null} */
    this.arrays = null;
    this.failed = "";
    /** @type {number | undefined} */
    this.timer = undefined;
  }

  /** The arrays at an address; null until they have come. @param {string} address "" for none */
  of(address) {
    if (address === this.address) return this.arrays;
    this.address = address;
    this.arrays = null;
    this.failed = "";
    clearTimeout(this.timer);
    if (address) this.timer = window.setTimeout(() => this.fetch(address), CALM);
    return null;
  }

  /** @param {string} address */
  async fetch(address) {
    try {
      const arrays = await fetchArrays(address, this.source);
      if (address === this.address) this.arrays = arrays;
    } catch (error) {
      if (address === this.address) this.failed = error instanceof Error ? error.message : "It has not come.";
    }
    if (address === this.address) this.onCome();
  }

  destroy() {
    clearTimeout(this.timer);
  }
}
