// Reads a safetensors file: https://github.com/safetensors/safetensors#format. Whatever is not one is refused.

/** A document is refused; the message says why, in one sentence. */
export class DocumentError extends Error {
  /** @param {string} why */
  constructor(why) {
    super(why);
    this.name = "DocumentError";
  }
}

/** @param {string} why @returns {never} */
export function refuse(why) {
  throw new DocumentError(why);
}

export const MAX_BYTES = 128 * 2 ** 20;
export const MAX_HEADER_BYTES = 4 * 2 ** 20;

const LENGTH = 8; // bytes, of the number with which a file begins
const TYPES = { F32: Float32Array, BOOL: Uint8Array, U8: Uint8Array, U16: Uint16Array };

/** @typedef {keyof typeof TYPES} Dtype */
/** @type {readonly Dtype[]} */
const OF_DOCUMENTS = ["F32", "BOOL", "U8"];

/** @typedef {{ dtype: string, shape: number[], data_offsets: [number, number] }} Entry */
/** An array of a file, with the dtype that the file says.
 * @typedef {Packed & { dtype: string }} Stored
 */

/**
 * Reads the metadata and the arrays, which are views on the file where its alignment allows.
 * @param {Uint8Array} file @param {readonly Dtype[]} dtypes which its arrays may have
 * @returns {{ metadata: Record<string, string>, arrays: Record<string, Stored> }}
 * @throws {DocumentError}
 */
export function readSafetensors(file, dtypes = OF_DOCUMENTS) {
  const length = headerLength(file);
  const { __metadata__: metadata, ...listed } = outerHeader(file.subarray(LENGTH, LENGTH + length));
  const body = file.subarray(LENGTH + length);
  const entries = Object.entries(listed);
  if (!isText(metadata ?? {}) || !entries.every(([, entry]) => isEntry(entry))) notSafetensors();
  if (!fills(entries, body.length)) notSafetensors();
  return {
    metadata: metadata ?? {},
    arrays: Object.fromEntries(entries.map(([name, one]) => [name, array(one, body, dtypes)])),
  };
}

/** @returns {never} */
const notSafetensors = () => refuse("This is not a safetensors file.");

/** @param {number} n */
const grouped = (n) => n.toLocaleString("en-US");

/** @param {Uint8Array} file */
function headerLength(file) {
  if (file.length > MAX_BYTES) {
    refuse(`The file has ${grouped(file.length)} bytes; a document has at most ${grouped(MAX_BYTES)}.`);
  }
  if (file.length < LENGTH) notSafetensors();
  const length = Number(new DataView(file.buffer, file.byteOffset, LENGTH).getBigUint64(0, true));
  if (length > file.length - LENGTH) notSafetensors();
  if (length > MAX_HEADER_BYTES) {
    refuse(`The file's header has ${grouped(length)} bytes; a document's has at most ${grouped(MAX_HEADER_BYTES)}.`);
  }
  return length;
}

/** @param {Uint8Array} bytes @returns {Record<string, any>} */
function outerHeader(bytes) {
  try {
    const header = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    return isObject(header) ? header : notSafetensors();
  } catch {
    return notSafetensors();
  }
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {unknown} value */
const isText = (value) => isObject(value) && Object.values(value).every((one) => typeof one === "string");

/** @param {unknown} value */
const isCount = (value) => Number.isSafeInteger(value) && Number(value) >= 0;

/** @param {unknown} value @returns {value is Entry} */
function isEntry(value) {
  if (!isObject(value) || typeof value.dtype !== "string") return false;
  const { shape, data_offsets: offsets } = value;
  const lists = [shape, offsets].every((list) => Array.isArray(list) && list.every(isCount));
  return lists && Array.isArray(offsets) && offsets.length === 2;
}

/**
 * Whether the arrays lie side by side and fill the rest of the file, as the format demands.
 * @param {[string, Entry][]} entries @param {number} bytes
 */
function fills(entries, bytes) {
  const spans = entries.map(([, { data_offsets: span }]) => span).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let end = 0;
  for (const [from, to] of spans) {
    if (from !== end || to < from) return false;
    end = to;
  }
  return end === bytes;
}

/** @param {Entry} entry @param {Uint8Array} body @param {readonly Dtype[]} dtypes @returns {Stored} */
function array({ dtype, shape, data_offsets: [from, to] }, body, dtypes) {
  const known = dtypes.find((one) => one === dtype);
  if (!known) {
    return refuse(`The document has an array that is neither ${dtypes.slice(0, -1).join(", ")} nor ${dtypes.at(-1)}.`);
  }
  const Type = TYPES[known];
  const count = shape.reduce((product, side) => product * side, 1);
  if (count * Type.BYTES_PER_ELEMENT !== to - from) notSafetensors();
  const start = body.byteOffset + from;
  // A typed array may only lie at a multiple of its element's size, and the file may lie anywhere in a buffer.
  if (start % Type.BYTES_PER_ELEMENT !== 0) return { data: new Type(body.slice(from, to).buffer), shape, dtype };
  return { data: new Type(/** @type {ArrayBuffer} */ (body.buffer), start, count), shape, dtype };
}
