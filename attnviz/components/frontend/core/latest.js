// One file at a time, of what is looked at last: asked for once it has been looked at for a moment, until it comes.

import { fetchArrays, keptArrays } from "./arrays.js";
import { failureText, Files } from "./files.js";

export class Latest {
  /**
   * @param {import("./arrays.js").Source} source @param {() => void} onChange the file has come, or has not
   * @param {number} [calm] ms
   */
  constructor(source, onChange, calm = 0) {
    this.address = "";
    /** @type {Arrays | null} */
    this.arrays = null;
    /** @type {Files<Arrays>} */
    this.files = new Files(
      (address) => fetchArrays(address, source),
      {
        onCome: (address, arrays) => {
          if (address !== this.address) return;
          this.arrays = arrays;
          onChange();
        },
        onFail: onChange,
      },
      { atOnce: 2, calm }, // one that is looked at no more may be on its way
    );
  }

  /** The arrays at an address; null until they have come. @param {string} address "" for none */
  of(address) {
    if (address !== this.address) {
      this.address = address;
      this.arrays = keptArrays(address) ?? null;
      this.files.want(this.arrays ? [] : [address]);
    }
    return this.arrays;
  }

  /** What is said of a file that has not come; "" if it may be on its way. */
  get failed() {
    const { failure } = this.files;
    return failure ? sentence(failureText(failure)) : "";
  }

  again() {
    this.files.again();
  }

  destroy() {
    this.files.destroy();
  }
}

/** With a capital. @param {string} text */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
