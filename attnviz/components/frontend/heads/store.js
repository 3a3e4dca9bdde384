// What is known of a text's heads: what the payload says, what all heads share, and the weights that have come, 16 bits
// each.

import { keptArrays } from "../core/arrays.js";
import { poolHidden, poolWeights } from "../grid/pool.js";
import { FRESH, numberOf } from "./choice.js";
import { fileOf } from "./files.js";

/** @type {ExplorerHeader} before anything has come */
const NOTHING = {
  ...{ trace: "", layers: [], heads: 0, rows: 0, cols: 0, causal: false, view: FRESH, acknowledged: 0 },
  ...{ query_labels: [], key_labels: [], query_groups: [], key_groups: [], labels: [], measures: [] },
  ...{ rollout: false, norms: false, files: { shared: "", weights: [], rollout: [] } },
};

export class Store {
  constructor() {
    /** @type {string | null} */
    this.trace = null;
    /** @type {ExplorerHeader} */
    this.header = NOTHING;
    /** @type {HeadFrame} */
    this.frame = { rows: 0, cols: 0, causal: false, hidden: null, groups: { query: [], key: [] } };
    this.measures = new Float32Array(0);
    this.shared = ""; // the digest of what all heads share, once it has come
    /** @type {Float32Array | null} */
    this.norms = null;
    /** @type {Overview | null} */
    this.overview = null;
  }

  /**
   * Takes a payload, and what all heads share, if it has come.
   * @param {ExplorerHeader} header @param {Arrays} arrays @param {Arrays | undefined} shared
   */
  take(header, arrays, shared) {
    const { layers, heads: count, rows, cols } = header;
    this.measures = floats(arrays.measures) ?? new Float32Array(layers.length * count * header.measures.length);
    this.header = header;
    if (header.trace === this.trace && (!shared || header.files.shared === this.shared)) return;
    this.trace = header.trace;
    this.shared = shared ? header.files.shared : "";
    this.frame = {
      rows,
      cols,
      causal: header.causal,
      hidden: shared?.hidden?.data ?? null,
      groups: { query: header.query_groups, key: header.key_groups },
    };
    this.norms = /** @type {Float32Array | undefined} */ (shared?.key_norms?.data) ?? null;
    this.overview = shared ? this.overviewOf(shared) : null;
  }

  /** @param {HeadId} head */
  has(head) {
    return Boolean(keptArrays(fileOf(this.header, head).digest));
  }

  /**
   * A head's weights as received, or null.
   * @param {HeadId} head
   */
  codes(head) {
    const { digest, place } = fileOf(this.header, head);
    const weights = keptArrays(digest)?.weights;
    const cells = this.frame.rows * this.frame.cols;
    return /** @type {Uint16Array | undefined} */ (weights?.data)?.subarray(place * cells, (place + 1) * cells) ?? null;
  }

  /**
   * The lengths ‖f(x)‖ of a head's keys, or null.
   * @param {HeadId} head
   */
  keyNorms(head) {
    const { cols } = this.header;
    if (!this.norms || head[1] < 0) return null;
    const first = numberOf(this.header, head) * cols;
    return this.norms.subarray(first, first + cols);
  }

  /**
   * A head's measures in the order of the header's.
   * @param {HeadId} head
   */
  measuresOf(head) {
    const { measures } = this.header;
    const first = numberOf(this.header, head) * measures.length;
    return this.measures.subarray(first, first + measures.length);
  }

  /**
   * The thumbnails {data, height, width, hidden}: sent, or pooled here from the weights of all heads.
   * @param {Arrays} shared @returns {Overview}
   */
  overviewOf({ overview, weights }) {
    const { layers, heads: count, rows, cols } = this.header;
    const [height, width] = overview?.shape.slice(2) ?? [];
    const codes = /** @type {Uint16Array} */ (weights?.data);
    const pooled = overview
      ? { data: overview.data, height, width }
      : poolWeights(codes, layers.length * count, rows, cols);
    return { ...pooled, hidden: poolHidden(this.frame, pooled.height, pooled.width) };
  }
}

/** A copy of an array of a payload, which would keep the whole payload. @param {Packed | undefined} array */
const floats = (array) => /** @type {Float32Array | undefined} */ (array?.data)?.slice();
