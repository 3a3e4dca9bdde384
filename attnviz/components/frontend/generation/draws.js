// The numbers of all draws, read from the arrays of attnviz/training/generation.py.

const FULL = 65535; // the level of a weight of 1

export class Draws {
  /** @param {Arrays} arrays @param {GenerationModel} model */
  constructor(arrays, model) {
    this.arrays = arrays;
    this.heads = model.layers * model.heads;
    this.ids = Array.from(arrays.ids.data);
    /** @type {number[]} where the weights of each draw begin */
    this.starts = [];
    let start = 0;
    for (const context of arrays.context.data) {
      this.starts.push(start);
      start += context * this.heads;
    }
  }

  get length() {
    return this.ids.length;
  }

  /** @param {string} name @param {number} n */
  one(name, n) {
    return this.arrays[name].data[n];
  }

  /** @param {string} name @param {number} n */
  row(name, n) {
    const { data, shape } = this.arrays[name];
    const each = data.length / shape[0];
    return data.subarray(n * each, (n + 1) * each);
  }

  /** @param {number} n */
  probability(n) {
    return this.row("own", n)[2];
  }

  /** @param {number} n @returns {Draw} */
  at(n) {
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

  /**
   * The weights of all heads at the last position, (heads, context), the layers one after another.
   * @param {number} n
   */
  weights(n) {
    const from = this.starts[n];
    const codes = this.arrays.weights.data.subarray(from, from + this.one("context", n) * this.heads);
    return Float32Array.from(codes, (code) => code / FULL);
  }

  /**
   * The likeliest tokens of each state, before the first block and after each; null where there is no logit lens.
   * @param {number} n @returns {{ id: number, probability: number }[][] | null}
   */
  lens(n) {
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
