// One file at a time, of what is looked at last: asked for once it has been looked at for a moment, until it comes.

import { fetchArrays, keptArrays } from "./arrays.ts";
import { Files } from "./files.ts";
import type { Source } from "./arrays.ts";

export class Latest {
  address = "";
  arrays: Arrays | null;
  files: Files<Arrays>;

  /**
   * @param onChange the file has come, or has not
   * @param calm ms
   */
  constructor(source: Source, onChange: () => void, calm = 0) {
    this.arrays = null;
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

  /** The arrays at an address; null until they have come. @param address "" for none */
  of(address: string) {
    if (address !== this.address) {
      this.address = address;
      this.arrays = keptArrays(address) ?? null;
      this.files.want(this.arrays ? [] : [address]);
    }
    return this.arrays;
  }

  /** What is said of a file that has not come; "" if it may be on its way. */
  get failed() {
    return this.files.said;
  }

  again() {
    this.files.again();
  }

  destroy() {
    this.files.destroy();
  }
}
