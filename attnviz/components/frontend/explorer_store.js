// A cache of the weights in this browser by head, as received: 16 bits per weight.
//
// It outlives the component, so that returning to a head, a page or a text needs no request.

import { FRESH } from "./explorer_choice.js";
import { poolHidden, poolWeights } from "./grid_pool.js";

const LIMIT = 64 * 1024 * 1024; // bytes
/** @type {Map<string, Uint16Array>} */
const heads = new Map(); // "trace layer head" -> Uint16Array, the one used longest ago first
let held = 0; // bytes

/** @param {string} name @param {Uint16Array} codes */
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

/** @type {ExplorerHeader} before anything has come */
const NOTHING = {
  ...{ trace: "", layers: 0, heads: 0, rows: 0, cols: 0, causal: false, sent: [], view: FRESH, acknowledged: 0 },
  ...{ query_labels: [], key_labels: [], query_groups: [], key_groups: [], labels: [], measures: [] },
  ...{ rollout: false, norms: false },
};

export class Store {
  constructor() {
    /** @type {string | null} */
    this.trace = null;
    this.received = 0; // bytes
    /** @type {ExplorerHeader} */
    this.header = NOTHING;
    /** @type {HeadFrame} */
    this.frame = { rows: 0, cols: 0, causal: false, hidden: null, groups: { query: [], key: [] } };
    this.measures = new Float32Array(0);
    /** @type {Float32Array | null} */
    this.norms = null;
    /** @type {Overview | null} */
    this.overview = null;
  }

  /**
   * Takes what a payload brings. What an earlier one of the same trace brought stays.
   * @param {ExplorerHeader} header @param {Arrays} arrays
   */
  take(header, arrays) {
    if (header.trace !== this.trace) {
      Object.assign(this, { trace: header.trace, received: 0, overview: null, norms: null });
    }
    this.header = header;
    const { layers, heads: count, rows, cols } = header;
    const cells = rows * cols;
    header.sent.forEach(([layer, head], n) => {
      const weights = /** @type {Uint16Array} */ (arrays.weights.data);
      keep(this.name(layer, head), weights.slice(n * cells, (n + 1) * cells));
    });
    this.received += arrays.weights?.data.byteLength ?? 0;
    this.frame = {
      rows,
      cols,
      causal: header.causal,
      hidden: arrays.hidden?.data.slice() ?? null,
      groups: { query: header.query_groups, key: header.key_groups },
    };
    this.measures = floats(arrays.measures) ?? new Float32Array(layers * count * header.measures.length);
    this.norms = floats(arrays.key_norms) ?? this.norms;
    this.overview ??= this.takeOverview(arrays.overview);
  }

  /** Whether something is missing that only a first payload brings. */
  get incomplete() {
    return !this.overview || (this.header.norms && !this.norms);
  }

  /** @param {number} layer @param {number} head */
  name(layer, head) {
    return `${this.trace} ${layer} ${head}`;
  }

  /** @param {HeadId} head */
  has([layer, head]) {
    return heads.has(this.name(layer, head));
  }

  /**
   * A head's weights as received, or null.
   * @param {HeadId} head
   */
  codes([layer, head]) {
    const name = this.name(layer, head);
    const codes = heads.get(name);
    if (codes) keep(name, codes);
    return codes ?? null;
  }

  /**
   * The lengths ‖f(x)‖ of a head's keys, or null.
   * @param {HeadId} head
   */
  keyNorms([layer, head]) {
    const { heads: count, cols } = this.header;
    if (!this.norms || head < 0) return null;
    const first = (layer * count + head) * cols;
    return this.norms.subarray(first, first + cols);
  }

  /**
   * A head's measures in the order of the header's.
   * @param {HeadId} head
   */
  measuresOf([layer, head]) {
    const { heads: count, measures } = this.header;
    const first = (layer * count + head) * measures.length;
    return this.measures.subarray(first, first + measures.length);
  }

  /**
   * The thumbnails {data, height, width, hidden}: sent, or pooled here where all heads have come.
   * @param {Packed | undefined} sent @returns {Overview | null}
   */
  takeOverview(sent) {
    const { layers, heads: count, rows, cols } = this.header;
    /** @param {number} height @param {number} width */
    const hidden = (height, width) => poolHidden(this.frame, height, width);
    if (sent) {
      const [, , height, width] = sent.shape;
      return { data: sent.data.slice(), height, width, hidden: hidden(height, width) };
    }
    const all = Array.from({ length: layers * count }, (_, n) => this.codes([Math.floor(n / count), n % count]));
    const here = all.filter((codes) => codes !== null);
    if (here.length < all.length) return null;
    const { data, height, width } = poolWeights(here, rows, cols);
    return { data, height, width, hidden: hidden(height, width) };
  }
}

/** A copy of an array of a payload, which would keep the whole payload. @param {Packed | undefined} array */
const floats = (array) => /** @type {Float32Array | undefined} */ (array?.data)?.slice();
