// The matrices of one head of a document: those that it holds, and those that follow from query, key, value and mask,
// computed when they are first asked for. Sums run in double precision; results are float32. Hidden cells are NaN, of
// weights those that are 0: a mask with a finite number may leave hidden keys a weight.

import { dot, hiddenValue, maskTerm, softmax, weighted } from "../core/attention.ts";
import { Refused } from "../core/files.ts";
import type { WalkDocument } from "../core/document.ts";
import type { Matrix } from "../core/attention.ts";

const KEPT = 3; // heads of a document whose matrices stay in memory
const MOST = 40 * 2 ** 20; // bytes of matrices of all heads and documents, but for those of the head that is shown
const HEAD = ["query", "key", "value"];
const LARGE = 2 ** 24; // multiplications for the scores of a head: more are computed in slices, or the page would hang
const SLICE = 12; // ms
const SLICED = ["scores", "scaled", "masked", "weights", "row_sum", "head_outputs", "by_data"];
/** What stands before the number of a head in the name of what has to be computed first. */
export const COMPUTED = "computed/";

/** What each derived matrix follows from. */
const INPUTS: Record<string, string[]> = {
  key_t: ["key"],
  ...Object.fromEntries(["scores", "scaled", "masked", "weights", "row_sum"].map((name) => [name, ["query", "key"]])),
  head_outputs: HEAD,
  triangle: [],
  masked_zeros: [],
  softmax_weights: [],
  by_data: HEAD,
};

/** Matrices of equal shares of the past, cell by cell. */
const EQUAL: Record<string, (q: number, k: number) => number> = {
  triangle: (q, k) => (k > q ? 0 : 1 / (q + 1)),
  masked_zeros: (q, k) => (k > q ? NaN : 0),
  softmax_weights: (q, k) => (k > q ? NaN : 1 / (q + 1)), // exp(0) = 1, of q + 1 keys
};

/** those of the heads that were looked at last */
const known: WeakMap<WalkDocument, HeadMatrices[]> = new WeakMap();

/** the heads of all documents, the one that was looked at last at the end */
let recent: WeakRef<HeadMatrices>[] = [];

/** Forgets what was looked at longest ago, until the rest is small enough. */
function forget(shown: HeadMatrices) {
  const others = recent.map((one) => one.deref()).filter((one) => one !== undefined && one !== shown);
  const kept = [...others, shown] as HeadMatrices[];
  let bytes = kept.reduce((sum, one) => sum + one.bytes, 0);
  while (bytes > MOST && kept.length > 1) {
    const [oldest] = kept.splice(0, 1);
    bytes -= oldest.bytes;
    oldest.forget();
  }
  recent = kept.map((one) => new WeakRef(one));
}

/** The matrices of a head of a document; those of the last few heads are kept. */
export function matricesOf(document: WalkDocument, head: number) {
  const kept = known.get(document) ?? [];
  const found = kept.find((one) => one.head === head) ?? new HeadMatrices(document, head);
  known.set(document, [found, ...kept.filter((one) => one !== found)].slice(0, KEPT));
  return found;
}

export class HeadMatrices {
  document;
  head: number;
  derived: Map<string, Matrix>;
  /** query · key in double precision, (Tq · Tk) */
  products: Float64Array | null;

  constructor(document: WalkDocument, head: number) {
    this.document = document;
    this.head = head;
    this.derived = new Map();
    this.products = null;
  }

  /** An array of the document, the head's own or the layer's. */
  held(name: string) {
    const { arrays } = this.document;
    return arrays[`${name}/${this.head}`] ?? arrays[this.known(name)];
  }

  /** Keys and values are made of the queries' embeddings where there are no others. */
  known(name: string) {
    const { arrays, header } = this.document;
    const isOwn = name in arrays || name in header.references;
    return name === "embeddings_k" && !isOwn ? "embeddings" : name;
  }

  /**
   * The names of the arrays that must be fetched, or of the heads that must be computed, before a matrix can be had.
   */
  missing(name: string): string[] {
    if (this.held(name) || this.derived.has(name)) return [];
    const { header } = this.document;
    const own = `${name}/${this.head}`;
    if (own in header.references) return [own];
    if (this.known(name) in header.references) return [this.known(name)];
    if (name === "concat") {
      const arrays = header.heads.flatMap((head) => matrixNames(this.document, head, [...HEAD, ...maskNames(header)]));
      const others = header.heads.map((head) => new HeadMatrices(this.document, head));
      return arrays.length ? arrays : others.flatMap((one) => one.uncomputed("head_outputs"));
    }
    const masks = Object.hasOwn(INPUTS, name) && name !== "key_t" ? maskNames(header) : [];
    const arrays = matrixNames(this.document, this.head, [...(INPUTS[name] ?? []), ...masks]);
    return arrays.length ? arrays : this.uncomputed(name);
  }

  /** What must be computed before a matrix of a long text can be had at once. */
  uncomputed(name: string) {
    if (!SLICED.includes(name) || !this.isLarge) return [];
    const isOutput = name === "head_outputs" || name === "by_data";
    const isHere = isOutput ? outputs.get(this.document)?.has(this.head) : this.derived.has("weights");
    return isHere ? [] : [`${COMPUTED}${this.head}`];
  }

  get isLarge() {
    const [query, key] = [this.held("query"), this.held("key")];
    return Boolean(query && key) && query.shape[0] * key.data.length > LARGE;
  }

  /**
   * Computes all that follows from query, key, mask and, where they are here, the values: a few rows at a time.
   * @param isWanted asked between the rows: where it says no, the work ends
   * @returns the weights
   */
  async compute(isWanted: () => boolean): Promise<Matrix> {
    const [scores, scaled, masked, weights] = [this.byCell(), this.byCell(), this.byCell(), this.byCell()];
    const value = this.held("value") as Matrix | undefined;
    const output = value ? this.emptyOutput() : null;
    const { scale } = this.document.header;
    let until = performance.now() + SLICE;
    for (const { q, row, products, hides } of this.rows()) {
      const shares = softmax(row).weights;
      for (let k = 0, at = q * row.length; k < row.length; k += 1, at += 1) {
        const isHidden = hides(k);
        scores.data[at] = products[k];
        scaled.data[at] = products[k] * scale;
        masked.data[at] = isHidden ? NaN : row[k];
        weights.data[at] = weightOf(shares[k], isHidden);
      }
      if (value && output) output.data.set(weighted(shares, value.data, value.shape[1]), q * value.shape[1]);
      if (performance.now() < until) continue;
      await new Promise((next) => setTimeout(next));
      if (!isWanted()) throw new Refused("nobody looks at it any more");
      until = performance.now() + SLICE;
    }
    for (const [name, made] of Object.entries({ scores, scaled, masked, weights })) this.derived.set(name, made);
    if (output) outputsOf(this.document).set(this.head, output);
    return weights;
  }

  /** A matrix by its name; undefined if it is not there, and can't be derived from what is. */
  get(name: string): Matrix | undefined {
    const held = this.held(name);
    if (held) return held as Matrix;
    const found = this.derived.get(name);
    if (found || this.missing(name).length) return found;
    const made = this.derive(name);
    if (made) this.derived.set(name, made);
    forget(this);
    return made;
  }

  /** What is derived takes. */
  get bytes() {
    const all = [...this.derived.values()].map(({ data }) => data.byteLength);
    return all.reduce((sum, one) => sum + one, this.products?.byteLength ?? 0);
  }

  /** Frees what can be derived again. */
  forget() {
    this.derived.clear();
    this.products = null;
  }

  derive(name: string): Matrix | undefined {
    if (name === "concat") return concatenated(this.document);
    if (!Object.hasOwn(INPUTS, name)) return undefined;
    if (name in EQUAL) return this.eachCell(EQUAL[name]);
    if (name === "key_t") return transposed(this.operand("key"));
    if (name === "head_outputs" || name === "by_data") return headOutputs(this);
    if (name === "row_sum") return rowSums(this.get("weights") as Matrix);
    if (name === "weights") return this.weights();
    if (name === "masked") return this.masked();
    const products = this.allProducts();
    const factor = name === "scaled" ? this.document.header.scale : 1;
    const made = this.byCell();
    for (let n = 0; n < products.length; n += 1) made.data[n] = products[n] * factor;
    return made;
  }

  /** An array that every head has. */
  operand(name: string): Matrix {
    return this.held(name) as Matrix;
  }

  get mask() {
    return this.document.header.mask === "causal" ? "causal" : (this.held("mask")?.data ?? null);
  }

  /** An empty matrix of queries by keys. */
  byCell(): Matrix {
    const [queries, keys] = [this.operand("query").shape[0], this.operand("key").shape[0]];
    return { data: new Float32Array(queries * keys), shape: [queries, keys] };
  }

  eachCell(at: (q: number, k: number) => number): Matrix {
    const made = this.byCell();
    const [, keys] = made.shape;
    for (let n = 0; n < made.data.length; n += 1) made.data[n] = at(Math.floor(n / keys), n % keys);
    return made;
  }

  allProducts() {
    if (this.products) return this.products;
    const [query, key] = [this.operand("query"), this.operand("key")];
    const [queries, keys, width] = [query.shape[0], key.shape[0], query.shape[1]];
    this.products = new Float64Array(queries * keys);
    for (let q = 0; q < queries; q += 1) {
      for (let k = 0; k < keys; k += 1) this.products[q * keys + k] = dot(query.data, q, key.data, k, width);
    }
    return this.products;
  }

  /**
   * The rows of masked scores, with the products that they are made of, and what says of a key whether it is hidden.
   * Both arrays last until the next row.
   */
  *rows(): Generator<{ q: number; row: Float64Array; products: Float64Array; hides: (k: number) => boolean }> {
    const [query, key] = [this.operand("query"), this.operand("key")];
    const [queries, keys, width] = [query.shape[0], key.shape[0], query.shape[1]];
    const { scale } = this.document.header;
    const hidden = hiddenValue(this.document.header);
    const { mask, products: all } = this;
    const [row, own] = [new Float64Array(keys), new Float64Array(keys)];
    for (let q = 0; q < queries; q += 1) {
      const products = all?.subarray(q * keys, (q + 1) * keys) ?? own;
      for (let k = 0; k < keys; k += 1) {
        if (!all) products[k] = dot(query.data, q, key.data, k, width);
        const term = maskTerm(mask, q, k, keys);
        row[k] = term === -Infinity ? hidden : products[k] * scale + term;
      }
      yield { q, row, products, hides: (k) => maskTerm(mask, q, k, keys) === -Infinity };
    }
  }

  masked() {
    this.allProducts();
    const made = this.byCell();
    for (const { q, row, hides } of this.rows()) {
      for (let k = 0; k < row.length; k += 1) made.data[q * row.length + k] = hides(k) ? NaN : row[k];
    }
    return made;
  }

  weights() {
    this.allProducts();
    const made = this.byCell();
    for (const { q, row, hides } of this.rows()) {
      const { weights } = softmax(row);
      for (let k = 0; k < row.length; k += 1) made.data[q * row.length + k] = weightOf(weights[k], hides(k));
    }
    return made;
  }

  emptyOutput(): Matrix {
    const [queries, width] = [this.operand("query").shape[0], this.operand("value").shape[1]];
    return { data: new Float32Array(queries * width), shape: [queries, width] };
  }

  headOutputs() {
    const { data: values } = this.operand("value");
    const made = this.emptyOutput();
    const [, width] = made.shape;
    for (const { q, row } of this.rows()) made.data.set(weighted(softmax(row).weights, values, width), q * width);
    return made;
  }
}

/** A weight as float32; NaN where it is 0 because its cell is hidden. */
function weightOf(x: number, isHidden: boolean) {
  const weight = Math.fround(x);
  return weight === 0 && isHidden ? NaN : weight;
}

/** The mask of a document as its arrays name it: none where it follows from the positions. */
const maskNames = ({ mask }: WalkDocument["header"]) => (mask === "causal" ? [] : ["mask"]);

/** Of these arrays of a head, those that a document refers to but does not hold. */
function matrixNames({ arrays, header }: WalkDocument, head: number, names: string[]) {
  return names
    .flatMap((name) => [`${name}/${head}`, name])
    .filter((name) => name in header.references && !(name in arrays));
}

/** head outputs by head: all are needed for their concatenation */
const outputs: WeakMap<WalkDocument, Map<number, Matrix>> = new WeakMap();

function outputsOf(document: WalkDocument) {
  const kept = outputs.get(document) ?? new Map();
  outputs.set(document, kept);
  return kept;
}

/** The output of a head, kept as long as its document. */
export function headOutputs(matrices: HeadMatrices): Matrix {
  const kept = outputsOf(matrices.document);
  const found = kept.get(matrices.head) ?? matrices.headOutputs();
  kept.set(matrices.head, found);
  return found;
}

/**
 * Computes the matrices of a head of a long text in slices, for what `missing` names by `COMPUTED`. Of a head that is
 * not shown only the output is kept.
 */
export function compute(document: WalkDocument, head: number, isWanted: () => boolean) {
  const shown = known.get(document)?.find((one) => one.head === head);
  if (!shown) return new HeadMatrices(document, head).compute(isWanted);
  return shown.compute(isWanted).finally(() => forget(shown));
}

/** The outputs of all heads side by side. */
function concatenated(document: WalkDocument): Matrix | undefined {
  const { heads, heads_in_layer: all } = document.header;
  if (heads.length !== all) return undefined;
  const parts = heads.map((head) => headOutputs(new HeadMatrices(document, head)));
  const [rows, width] = parts[0].shape;
  const data = new Float32Array(rows * width * all);
  for (const [n, part] of parts.entries()) {
    for (let q = 0; q < rows; q += 1) {
      data.set(part.data.subarray(q * width, (q + 1) * width), (q * all + n) * width);
    }
  }
  return { data, shape: [rows, width * all] };
}

function transposed({ data, shape: [rows, columns] }: Matrix): Matrix {
  const made = new Float32Array(data.length);
  for (let i = 0; i < rows; i += 1) for (let j = 0; j < columns; j += 1) made[j * rows + i] = data[i * columns + j];
  return { data: made, shape: [columns, rows] };
}

function rowSums({ data, shape: [rows, columns] }: Matrix): Matrix {
  const made = new Float32Array(rows);
  for (let i = 0; i < rows; i += 1) {
    let sum = 0;
    for (let j = 0; j < columns; j += 1) sum += data[i * columns + j] || 0; // NaN is hidden
    made[i] = sum;
  }
  return { data: made, shape: [rows, 1] };
}
