// What a model does at each snapshot, as it comes from the server: some snapshots a request, the shown one first.

import { fetchArrays, partOf } from "../core/arrays.ts";
import { Files } from "../core/files.ts";
import type { Source } from "../core/arrays.ts";

const EACH = 16; // snapshots a request at most
const SNAPSHOTS = "~s."; // between a training's digest and the snapshots that are asked for

export class Moments {
  each: number;
  onChange;
  told = ""; // what was said of snapshots that have not come, when the page was last told
  digest = "";
  known = new Map<number, TrainingMoment>();
  wanted: { steps: number[]; first: number } = { steps: [], first: 0 };
  files: Files<Arrays>;

  /** @param each snapshots a request at most */
  constructor(source: Source, onChange: () => void, each: number = EACH) {
    this.each = each;
    this.onChange = onChange;
    this.files = new Files((address) => fetchArrays(address, source), {
      onCome: (address, arrays) => this.take(address, arrays),
      onFail: () => this.tell(),
    });
  }

  /** Asks for all snapshots of a training, `first` before the others. */
  want(digest: string, steps: number[], first: number) {
    if (digest !== this.digest) this.known = new Map();
    this.digest = digest;
    this.wanted = { steps, first };
    this.ask();
  }

  /** The moment of a step, or the nearest one that is here. */
  at(step: number): TrainingMoment | null {
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
    return this.files.said;
  }

  ask() {
    const { steps, first } = this.wanted;
    const missing = steps.filter((step) => !this.known.has(step));
    const others = missing.filter((step) => step !== first);
    const lists = missing.length > others.length ? [[first]] : [];
    for (let n = 0; n < others.length; n += this.each) lists.push(others.slice(n, n + this.each));
    this.files.want(this.digest ? lists.map((list) => `${this.digest}${SNAPSHOTS}${list.join(".")}`) : []);
  }

  take(address: string, arrays: Arrays) {
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

/** @param n which of the file's snapshots */
function momentOf(step: number, arrays: Arrays, n: number): TrainingMoment {
  const weights: Record<string, Uint16Array> = {};
  for (const [name, array] of Object.entries(arrays)) {
    if (name.startsWith("weights.")) {
      weights[name.slice("weights.".length)] = partOf(array, n) as Uint16Array;
    }
  }
  const answer = partOf(arrays.answer, n) as Uint16Array;
  const written = arrays.written ? text(partOf(arrays.written, n) as Uint8Array) : null;
  return { step, weights, answer, probability: partOf(arrays.probability, n) as Float32Array, written };
}

/** UTF-8 up to the first zero. */
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes.filter((byte) => byte !== 0));
