// The weights that this browser has, head by head, as they arrived: 16-bit numbers, two bytes a weight.
//
// They outlive the component, so that coming back to a head, a page or a text costs nothing.

import { poolHidden, poolWeights } from "./grid_pool.js";

const LIMIT = 64 * 1024 * 1024; // bytes
const heads = new Map(); // "trace layer head" -> Uint16Array, the one used longest ago first
let held = 0; // bytes

function keep(name, codes) {
  held += codes.byteLength - (heads.get(name)?.byteLength ?? 0);
  heads.delete(name);
  heads.set(name, codes);
  for (const [oldest, { byteLength }] of heads) {
    if (held <= LIMIT || oldest === name) break;
    heads.delete(oldest);
    held -= byteLength;
  }
}

export class Store {
  constructor() {
    this.trace = null;
    this.received = 0;
  }

  /** Takes what a payload brings. What an earlier one of the same trace brought stays. */
  take(header, arrays) {
    if (header.trace !== this.trace) {
      Object.assign(this, { trace: header.trace, received: 0, overview: null, norms: null });
    }
    this.header = header;
    const { layers, heads: count, rows, cols } = header;
    const cells = rows * cols;
    header.sent.forEach(([layer, head], n) => {
      keep(this.name(layer, head), arrays.weights.data.slice(n * cells, (n + 1) * cells));
    });
    this.received += arrays.weights?.data.byteLength ?? 0;
    this.frame = {
      rows,
      cols,
      causal: header.causal,
      hidden: arrays.hidden?.data.slice() ?? null,
      groups: { query: header.query_groups, key: header.key_groups },
    };
    this.measures = arrays.measures?.data.slice() ?? new Float32Array(layers * count * header.measures.length);
    if (arrays.key_norms) this.norms = arrays.key_norms.data.slice();
    this.overview ??= this.takeOverview(arrays.overview);
  }

  /** Whether something is missing that only a first payload brings. */
  get incomplete() {
    return !this.overview || (this.header.norms && !this.norms);
  }

  name(layer, head) {
    return `${this.trace} ${layer} ${head}`;
  }

  has([layer, head]) {
    return heads.has(this.name(layer, head));
  }

  /** A head's weights as they arrived, or null. */
  codes([layer, head]) {
    const name = this.name(layer, head);
    const codes = heads.get(name);
    if (codes) keep(name, codes);
    return codes ?? null;
  }

  /** The lengths ‖f(x)‖ of a head's keys, or null. */
  keyNorms([layer, head]) {
    const { heads: count, cols } = this.header;
    if (!this.norms || head < 0) return null;
    const first = (layer * count + head) * cols;
    return this.norms.subarray(first, first + cols);
  }

  /** A head's measures in the order of the header's. */
  measuresOf([layer, head]) {
    const { heads: count, measures } = this.header;
    const first = (layer * count + head) * measures.length;
    return this.measures.subarray(first, first + measures.length);
  }

  /** The thumbnails {data, height, width, hidden}: sent, or pooled here where all heads have come. */
  takeOverview(sent) {
    const { layers, heads: count, rows, cols } = this.header;
    const hidden = (height, width) => poolHidden(this.frame, height, width);
    if (sent) {
      const [, , height, width] = sent.shape;
      return { data: sent.data.slice(), height, width, hidden: hidden(height, width) };
    }
    const all = Array.from({ length: layers * count }, (_, n) => this.codes([Math.floor(n / count), n % count]));
    if (!all.every(Boolean)) return null;
    const { data, height, width } = poolWeights(all, rows, cols);
    return { data, height, width, hidden: hidden(height, width) };
  }
}
