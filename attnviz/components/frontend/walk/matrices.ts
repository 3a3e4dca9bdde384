// The matrices of one head of a document: those that it holds, and those that follow from query, key, value and mask,
// computed when they are first asked for. Sums run in double precision; results are float32. Hidden cells are NaN, of
// weights those that are 0: a mask with a finite number may leave hidden keys a weight.

import { Attention } from "../core/attention.ts";
import { Refused } from "../core/files.ts";
import type { WalkDocument } from "../core/document.ts";
import type { Matrix } from "../core/attention.ts";

const KEPT = 3; // heads of a document whose matrices stay in memory
const MOST = 40 * 2 ** 20; // bytes of matrices of all heads and documents, but for those of the head that is shown
const HEAD = ["query", "key", "value"];
const LARGE = 2 ** 24; // multiplications for the scores of a head: more are computed in slices, or the page would hang
const SLICE = 12; // ms
const BY_CELL = ["scores", "scaled", "capped", "biased", "masked", "weights"] as const;
const OF_ROWS = ["sinks", "position_bias"]; // arrays of a head that only some layers have
const SLICED: string[] = [...BY_CELL, "sink", "row_sum", "head_outputs", "by_data"];
/** What stands before the number of a head in the name of what has to be computed first. */
export const COMPUTED = "computed/";

/** What each derived matrix follows from. */
const INPUTS: Record<string, string[]> = {
  key_t: ["key"],
  ...Object.fromEntries([...BY_CELL, "sink", "row_sum"].map((name) => [name, ["query", "key"]])),
  ...{ query_angles: ["cos", "sin"], key_angles: ["cos", "sin"] },
  head_outputs: HEAD,
  triangle: [],
  masked_zeros: [],
  softmax_weights: [],
  by_data: HEAD,
};

/**
 * The names of the arrays of a document: of queries and keys, those from which scores are computed, after norms and
 * rotary positions.
 */
export function operandNames({ arrays, header }: WalkDocument, names: string[]) {
  const isHeld = (name: string) =>
    header.heads.some((head) => [arrays, header.references].some((held) => `${name}/${head}` in held));
  return names.map((name) => [`rotated_${name}`, `normed_${name}`].find(isHeld) ?? name);
}

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
  derived = new Map<string, Matrix>();
  /** query · key in double precision, (Tq · Tk), of a text that is not long */
  products: Float64Array | null = null;

  constructor(document: WalkDocument, head: number) {
    this.document = document;
    this.head = head;
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
      const needed = [...this.operandNames, ...maskNames(header)];
      const arrays = header.heads.flatMap((head) => matrixNames(this.document, head, needed));
      const others = header.heads.map((head) => new HeadMatrices(this.document, head));
      return arrays.length ? arrays : others.flatMap((one) => one.uncomputed("head_outputs"));
    }
    const masks = Object.hasOwn(INPUTS, name) && name !== "key_t" ? maskNames(header) : [];
    const inputs = operandNames(this.document, INPUTS[name] ?? []);
    const arrays = matrixNames(this.document, this.head, [...inputs, ...masks]);
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
    const [query, key] = this.operandNames.map((name) => this.held(name));
    return Boolean(query && key) && query.shape[0] * key.data.length > LARGE;
  }

  /**
   * Computes all that follows from query, key, mask and, where they are here, the values: a few rows at a time.
   * @param isWanted asked between the rows: where it says no, the work ends
   * @returns the weights
   */
  async compute(isWanted: () => boolean): Promise<Matrix> {
    let until = performance.now() + SLICE;
    const work = this.rows({ hasCells: true, hasOutput: Boolean(this.held("value")) });
    while (!work.next().done) {
      if (performance.now() < until) continue;
      await new Promise((next) => setTimeout(next));
      if (!isWanted()) throw new Refused("nobody looks at it any more");
      until = performance.now() + SLICE;
    }
    return this.derived.get("weights") as Matrix;
  }

  /**
   * Computes the matrices of queries by keys, the output, or both; yields after each row, so that the caller may pause.
   * They are here after the last row.
   */
  *rows({ hasCells, hasOutput }: { hasCells: boolean; hasOutput: boolean }): Generator<void> {
    const { attention } = this;
    const { queries, keys, valueSize: width, sinks } = attention;
    const has: Record<string, unknown> = { capped: attention.header.cap, biased: attention.positionBias };
    const names = BY_CELL.filter((name) => !(name in has) || has[name]);
    const cells = Object.fromEntries(names.map((name) => [name, emptyMatrix(hasCells ? queries : 0, keys)]));
    const sink = hasCells && sinks ? emptyMatrix(queries, 1) : null;
    const products = hasCells && !this.isLarge ? new Float64Array(queries * keys) : null;
    const output = emptyMatrix(hasOutput ? queries : 0, width);
    for (let q = 0; q < queries; q += 1) {
      if (hasCells) {
        const row = attention.row(q);
        for (const name of names) cells[name].data.set(row[name], q * keys);
        if (sink) sink.data[q] = row.sink?.share ?? 0;
        blankHidden(attention, q, cells);
        products?.set(row.scores, q * keys);
      }
      if (hasOutput) output.data.set(attention.output(q), q * width);
      yield;
    }
    if (hasCells) for (const [name, made] of Object.entries(cells)) this.derived.set(name, made);
    if (sink) this.derived.set("sink", sink);
    this.products ??= products;
    if (hasOutput) outputsOf(this.document).set(this.head, output);
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

  /** Its arithmetic, row by row. */
  get attention() {
    return new Attention(this.document.header, this.operands([...HEAD, "mask", ...OF_ROWS]), this.products);
  }

  /** The names of the arrays that must be fetched before a row's arithmetic can be had. */
  get missingOfRows() {
    const [query, key] = this.operandNames;
    return matrixNames(this.document, this.head, [query, key, ...maskNames(this.document.header)]);
  }

  /** The names of the queries, keys and values from which scores and outputs are computed. */
  get operandNames() {
    return operandNames(this.document, HEAD);
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
    if (name === "key_t") return transposed(this.operand(this.operandNames[1]));
    if (name === "query_angles" || name === "key_angles") return anglesOf(this.operand("cos"), this.operand("sin"));
    if (name === "head_outputs" || name === "by_data") return headOutputs(this);
    if (name === "row_sum") return rowSums(this.get("weights") as Matrix);
    finish(this.rows({ hasCells: true, hasOutput: false }));
    return this.derived.get(name);
  }

  /** An array that every head has. */
  operand(name: string): Matrix {
    return this.held(name) as Matrix;
  }

  /** Those of these operands of attention that are here. */
  operands(names: string[]): Partial<Arrays> {
    const arrays = operandNames(this.document, names).map((name) => this.held(name));
    return Object.fromEntries(names.map((name, n) => [name, arrays[n]]));
  }

  eachCell(at: (q: number, k: number) => number): Matrix {
    const [queries, keys] = this.operandNames.map((operand) => this.operand(operand).shape[0]);
    const made = emptyMatrix(queries, keys);
    for (let n = 0; n < made.data.length; n += 1) made.data[n] = at(Math.floor(n / keys), n % keys);
    return made;
  }
}

/** Hidden cells of row q are NaN, of weights those that are 0. */
function blankHidden(
  attention: Pick<Attention, "bias" | "keys">,
  q: number,
  { masked, weights }: Record<string, Matrix>,
) {
  for (let k = 0, at = q * attention.keys; k < attention.keys; k += 1, at += 1) {
    if (attention.bias(q, k) !== -Infinity) continue;
    masked.data[at] = NaN;
    if (weights.data[at] === 0) weights.data[at] = NaN;
  }
}

function emptyMatrix(rows: number, columns: number): Matrix {
  return { data: new Float32Array(rows * columns), shape: [rows, columns] };
}

/** Does work that could pause without a pause. */
function finish(work: Generator<void>) {
  while (!work.next().done);
}

/** The mask of a document as its arrays name it, none where it follows from the positions; and what only some have. */
const maskNames = ({ mask }: WalkDocument["header"]) => (mask === "causal" ? OF_ROWS : ["mask", ...OF_ROWS]);

/** Of these arrays of a head, those that a document refers to but does not hold. */
function matrixNames({ arrays, header }: WalkDocument, head: number, names: string[]) {
  return names
    .flatMap((name) => [`${name}/${head}`, name])
    .filter((name) => name in header.references && !(name in arrays));
}

/** head outputs by head: all are needed for their concatenation */
const outputs: WeakMap<WalkDocument, Map<number, Matrix>> = new WeakMap();

function outputsOf(document: WalkDocument) {
  const kept: Map<number, Matrix> = outputs.get(document) ?? new Map();
  outputs.set(document, kept);
  return kept;
}

/** The output of a head, kept as long as its document. */
export function headOutputs(matrices: HeadMatrices): Matrix {
  const kept = outputsOf(matrices.document);
  if (!kept.has(matrices.head)) finish(matrices.rows({ hasCells: false, hasOutput: true }));
  return kept.get(matrices.head) as Matrix;
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

/** The angles of which these are the cosines and the sines. */
function anglesOf(cos: Matrix, sin: Matrix): Matrix {
  return { data: sin.data.map((y, n) => Math.atan2(y, cos.data[n])), shape: cos.shape };
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
