// What a model does at each snapshot, as it comes from the server: some snapshots a request, the shown one first.

import { fetchArrays } from "../core/arrays.js";

const EACH = 16; // snapshots a request at most

/** @typedef {import("../core/arrays.js").Source} Source */

export class Moments {
  /** @param {Source} source @param {() => void} onCome @param {number} each snapshots a request at most */
  constructor(source, onCome, each = EACH) {
    this.each = each;
    this.source = source;
    this.onCome = onCome;
    this.digest = "";
    /** @type {Map<number, TrainingMoment>} */
    this.known = new Map();
    /** @type {Set<number>} those that did not come */
    this.lost = new Set();
    this.loading = false;
    this.failed = "";
    /** @type {{ steps: number[], first: number }} */
    this.wanted = { steps: [], first: 0 };
  }

  /**
   * Asks for all snapshots of a training, `first` before the others.
   * @param {string} digest @param {number[]} steps @param {number} first
   */
  want(digest, steps, first) {
    if (digest !== this.digest) {
      this.digest = digest;
      this.known = new Map();
      this.lost = new Set();
      this.failed = "";
    }
    this.wanted = { steps, first };
    if (!this.loading) this.load();
  }

  /** The moment of a step, or the nearest one that is here. @param {number} step @returns {TrainingMoment | null} */
  at(step) {
    const exact = this.known.get(step);
    if (exact) return exact;
    let best = null;
    for (const moment of this.known.values()) {
      if (!best || Math.abs(moment.step - step) < Math.abs(best.step - step)) best = moment;
    }
    return best;
  }

  next() {
    const { steps, first } = this.wanted;
    const missing = steps.filter((step) => !this.known.has(step) && !this.lost.has(step));
    if (missing.includes(first)) return [first];
    return missing.slice(0, this.each);
  }

  async load() {
    const { digest } = this;
    const steps = digest ? this.next() : [];
    if (!steps.length) return;
    this.loading = true;
    let cameBack = false;
    try {
      const arrays = await fetchArrays(`${digest}~s.${steps.join(".")}`, this.source);
      if (digest === this.digest) {
        steps.forEach((step, n) => this.known.set(step, momentOf(step, arrays, n)));
        cameBack = this.failed !== "";
        if (cameBack) this.lost = new Set(); // they are asked for again
        this.failed = "";
      }
    } catch (error) {
      if (digest === this.digest) {
        steps.forEach((step) => this.lost.add(step));
        this.failed = error instanceof Error ? error.message : "";
      }
    } finally {
      this.loading = false;
    }
    // The others are not shown now.
    if (steps.includes(this.wanted.first) || digest !== this.digest || cameBack) this.onCome();
    this.load();
  }
}

/**
 * @param {number} step @param {Arrays} arrays @param {number} n which of the file's snapshots
 * @returns {TrainingMoment}
 */
function momentOf(step, arrays, n) {
  /** @type {Record<string, Uint16Array>} */
  const weights = {};
  for (const [name, array] of Object.entries(arrays)) {
    if (name.startsWith("weights.")) {
      weights[name.slice("weights.".length)] = /** @type {Uint16Array} */ (part(array, n));
    }
  }
  const answer = /** @type {Uint16Array} */ (part(arrays.answer, n));
  const written = arrays.written ? text(/** @type {Uint8Array} */ (part(arrays.written, n))) : null;
  return { step, weights, answer, probability: /** @type {Float32Array} */ (part(arrays.probability, n)), written };
}

/** UTF-8 up to the first zero. @param {Uint8Array} bytes */
const text = (bytes) => new TextDecoder().decode(bytes.filter((byte) => byte !== 0));

/** @param {Packed} array @param {number} n */
function part({ data, shape }, n) {
  const each = data.length / shape[0];
  return data.subarray(n * each, (n + 1) * each);
}
