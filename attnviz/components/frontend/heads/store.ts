// What is known of a text's heads: what the payload says, what all heads share, and the weights that have come, 16 bits
// each.

import { keptArrays } from "../core/arrays.ts";
import { poolHidden, poolWeights } from "../grid/pool.ts";
import { FRESH, numberOf } from "./choice.ts";
import { fileOf } from "./files.ts";

/** before anything has come */
const NOTHING: ExplorerHeader = {
  ...{ trace: "", layers: [], heads: 0, rows: 0, cols: 0, causal: false, view: FRESH, acknowledged: 0 },
  ...{ query_labels: [], key_labels: [], query_groups: [], key_groups: [], labels: [], measures: [] },
  ...{ rollout: false, norms: false, files: { shared: "", weights: [], rollout: [] } },
};

export class Store {
  trace: string | null = null;
  header: ExplorerHeader = NOTHING;
  frame: HeadFrame = { rows: 0, cols: 0, causal: false, hidden: null, groups: { query: [], key: [] } };
  measures: Float32Array<ArrayBuffer> = new Float32Array(0);
  shared = ""; // the digest of what all heads share, once it has come
  norms: Float32Array | null = null;
  overview: Overview | null = null;

  /** Takes a payload, and what all heads share, if it has come. */
  take(header: ExplorerHeader, arrays: Arrays, shared: Arrays | undefined) {
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
      has_sinks: header.has_sinks,
    };
    this.norms = (shared?.key_norms?.data as Float32Array | undefined) ?? null;
    this.overview = shared ? this.overviewOf(shared) : null;
  }

  /** The frame with what the mask of the head's layer hides; a rollout has those of all layers. */
  frameOf([layer, head]: HeadId): HeadFrame {
    const reasons = this.header.mask_reasons?.[this.header.layers.indexOf(layer)];
    return reasons && head >= 0 ? { ...this.frame, reasons } : this.frame;
  }

  has(head: HeadId) {
    return Boolean(keptArrays(fileOf(this.header, head).digest));
  }

  /** A head's weights as received, or null. */
  codes(head: HeadId) {
    const { digest, place } = fileOf(this.header, head);
    const weights = keptArrays(digest)?.weights;
    const cells = this.frame.rows * this.frame.cols;
    return (weights?.data as Uint16Array | undefined)?.subarray(place * cells, (place + 1) * cells) ?? null;
  }

  /** The lengths ‖f(x)‖ of a head's keys, or null. */
  keyNorms(head: HeadId) {
    const { cols } = this.header;
    if (!this.norms || head[1] < 0) return null;
    const first = numberOf(this.header, head) * cols;
    return this.norms.subarray(first, first + cols);
  }

  /** A head's measures in the order of the header's. */
  measuresOf(head: HeadId) {
    const { measures } = this.header;
    const first = numberOf(this.header, head) * measures.length;
    return this.measures.subarray(first, first + measures.length);
  }

  /** The thumbnails {data, height, width, hidden}: sent, or pooled here from the weights of all heads. */
  overviewOf({ overview, weights }: Arrays): Overview {
    const { layers, heads: count, rows, cols } = this.header;
    const [height, width] = overview?.shape.slice(2) ?? [];
    const codes = weights?.data as Uint16Array;
    const pooled = overview
      ? { data: overview.data, height, width }
      : poolWeights(codes, layers.length * count, rows, cols);
    const hiddenBy = (reasons?: MaskReasons | null) =>
      poolHidden({ ...this.frame, reasons }, pooled.height, pooled.width);
    const { mask_reasons: ofLayers } = this.header;
    return { ...pooled, hidden: hiddenBy(), ...(ofLayers && { hiddenIn: once(ofLayers, hiddenBy) }) };
  }
}

/** What is made of each thing; of those that are alike, only once. */
function once<T, U>(things: T[], make: (thing: T) => U) {
  const made = new Map<string, U>();
  return things.map((thing) => {
    const name = JSON.stringify(thing);
    const one = made.get(name) ?? make(thing);
    made.set(name, one);
    return one;
  });
}

/** A copy of an array of a payload, which would keep the whole payload. */
const floats = (array: Packed | undefined) => (array?.data as Float32Array | undefined)?.slice();
