// The accuracy of a model without each of its heads: asked of the server once a snapshot rests.

import { fetchArrays } from "../core/arrays.js";

const CALM = 350; // ms: keys run through many snapshots

/** @typedef {import("../core/arrays.js").Source} Source */

export class Ablation {
  /** @param {Source} source @param {() => void} onCome */
  constructor(source, onCome) {
    this.source = source;
    this.onCome = onCome;
    this.name = ""; // of what was asked for last
    /** @type {number[] | null} */
    this.accuracies = null;
    /** @type {number | undefined} */
    this.timer = undefined;
  }

  /**
   * The accuracies at a snapshot, of the model without each head in order and last of the whole model; null until they
   * have come.
   * @param {string} digest @param {number} step
   */
  of(digest, step) {
    const name = digest && `${digest}~a.${step}`;
    if (name === this.name) return this.accuracies;
    this.name = name;
    this.accuracies = null;
    clearTimeout(this.timer);
    if (name) this.timer = window.setTimeout(() => this.fetch(name), CALM);
    return null;
  }

  /** @param {string} name */
  async fetch(name) {
    try {
      const { accuracy } = await fetchArrays(name, this.source);
      if (name !== this.name) return;
      this.accuracies = Array.from(accuracy.data);
      this.onCome();
    } catch {
      // There is nothing to say then; the next snapshot asks again.
    }
  }

  destroy() {
    clearTimeout(this.timer);
  }
}
