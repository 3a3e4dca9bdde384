// The numbers of all draws, read from the arrays of attnviz/training/generation.py.

import { partOf } from "../core/arrays.ts";
import { WEIGHT_LEVELS } from "../core/constants.ts";

export class Draws {
  arrays: Arrays;
  heads: number;
  ids: number[];
  /** where the weights of each draw begin */
  starts: number[] = [];

  constructor(arrays: Arrays, model: GenerationModel) {
    this.arrays = arrays;
    this.heads = model.layers * model.heads;
    this.ids = Array.from(arrays.ids.data);
    let start = 0;
    for (const context of arrays.context.data) {
      this.starts.push(start);
      start += context * this.heads;
    }
  }

  get length() {
    return this.ids.length;
  }

  one(name: string, n: number) {
    return this.arrays[name].data[n];
  }

  row(name: string, n: number) {
    return partOf(this.arrays[name], n);
  }

  probability(n: number) {
    return this.row("own", n)[2];
  }

  at(n: number): Draw {
    const [order, logits, scaled, probabilities, sums] = ["order", "logits", "scaled", "probabilities", "sums"].map(
      (name) => this.row(name, n),
    );
    const rows = Array.from(order, (id, rank) => ({
      ...{ id, rank, logit: logits[rank], scaled: scaled[rank] },
      ...{ probability: probabilities[rank], sum: sums[rank] },
    }));
    const [logit, own, probability, sum] = this.row("own", n);
    const number = this.one("number", n);
    return {
      rows,
      own: { id: this.ids[n], rank: this.one("rank", n), logit, scaled: own, probability, sum },
      ...{ kept: this.one("kept", n), total: this.one("total", n), context: this.one("context", n) },
      number: Number.isNaN(number) ? null : number,
    };
  }

  /** The weights of all heads at the last position, (heads, context), the layers one after another. */
  weights(n: number) {
    const from = this.starts[n];
    const codes = this.arrays.weights.data.subarray(from, from + this.one("context", n) * this.heads);
    return Float32Array.from(codes, (code) => code / WEIGHT_LEVELS.full);
  }

  /**
   * The likeliest tokens of each state, before the first block and after each; null where there is no logit lens.
   */
  lens(n: number): { id: number; probability: number }[][] | null {
    if (!this.arrays.lens_tokens) return null;
    const [, states, each] = this.arrays.lens_tokens.shape;
    const [tokens, probabilities] = [this.row("lens_tokens", n), this.row("lens_probabilities", n)];
    return Array.from({ length: states }, (_, p) =>
      Array.from({ length: each }, (__, k) => ({
        id: tokens[p * each + k],
        probability: probabilities[p * each + k],
      })),
    );
  }
}
