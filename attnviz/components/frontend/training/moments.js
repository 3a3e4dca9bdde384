// What a model does at each snapshot, as it comes from the server: some snapshots a request, the shown one first.

import { fetchArrays } from "../core/arrays.js";
import { failureText, Files } from "../core/files.js";
import { sentence } from "../core/latest.js";

const EACH = 16; // snapshots a request at most
const SNAPSHOTS = "~s."; // between a training's digest and the snapshots that are asked for

/** @typedef {import("../core/arrays.js").Source} Source */

export class Moments {
  /** @param {Source} source @param {() => void} onChange @param {number} each snapshots a request at most */
  constructor(source, onChange, each = EACH) {
    this.each = each;
    this.onChange = onChange;
    this.told = ""; // what was said of snapshots that have not come, when the page was last told
    this.digest = "";
    /** @type {Map<number, TrainingMoment>} */
    this.known = new Map();
    /** @type {{ steps: number[], first: number }} */
    this.wanted = { steps: [], first: 0 };
    /** @type {Files<Arrays>} */
    this.files = new Files((address) => fetchArrays(address, source), {
      onCome: (address, arrays) => this.take(address, arrays),
      onFail: () => this.tell(),
    });
  }

  /**
   * Asks for all snapshots of a training, `first` before the others.
   * @param {string} digest @param {number[]} steps @param {number} first
   */
  want(digest, steps, first) {
    if (digest !== this.digest) this.known = new Map();
    this.digest = digest;
    this.wanted = { steps, first };
    this.ask();
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

  /** What is said of snapshots that have not come; "" if they may be on their way. */
  get failed() {
    const { failure } = this.files;
    return failure ? sentence(failureText(failure)) : "";
  }

  ask() {
    const { steps, first } = this.wanted;
    const missing = steps.filter((step) => !this.known.has(step));
    const others = missing.filter((step) => step !== first);
    const lists = missing.length > others.length ? [[first]] : [];
    for (let n = 0; n < others.length; n += this.each) lists.push(others.slice(n, n + this.each));
    this.files.want(this.digest ? lists.map((list) => `${this.digest}${SNAPSHOTS}${list.join(".")}`) : []);
  }

  /** @param {string} address @param {Arrays} arrays */
  take(address, arrays) {
    const [digest, list] = address.split(SNAPSHOTS);
    if (digest !== this.digest) return;
    const steps = list.split(".").map(Number);
    steps.forEach((step, n) => this.known.set(step, momentOf(step, arrays, n)));
    this.ask();
    // The others are not shown now.
    if (steps.includes(this.wanted.first) || this.told !== this.failed) this.tell();
  }

  tell() {
    this.told = this.failed;
    this.onChange();
  }

  destroy() {
    this.files.destroy();
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
