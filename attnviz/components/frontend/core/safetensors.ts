// Reads a safetensors file: https://github.com/safetensors/safetensors#format. Whatever is not one is refused.

import { whole } from "./format.ts";

/** A file is refused; the message says why, in one sentence. */
export class DocumentError extends Error {
  constructor(why: string) {
    super(why);
    this.name = "DocumentError";
  }
}

export function refuse(why: string): never {
  throw new DocumentError(why);
}

export const MAX_BYTES = 128 * 2 ** 20;
export const MAX_HEADER_BYTES = 4 * 2 ** 20;

const LENGTH = 8; // bytes, of the number with which a file begins
const TYPES = { F32: Float32Array, BOOL: Uint8Array, U8: Uint8Array, U16: Uint16Array };

export type Dtype = keyof typeof TYPES;
const ALL = Object.keys(TYPES) as Dtype[];

export type Entry = { dtype: string; shape: number[]; data_offsets: [number, number] };
/** An array of a file, with the dtype that the file says. */
export type Stored = Packed & { dtype: string };

/**
 * Reads the metadata and the arrays, which are views on the file where its alignment allows.
 * @param what the file is, for the sentence with which it is refused
 * @param dtypes which its arrays may have
 * @throws {DocumentError}
 */
export function readSafetensors(
  file: Uint8Array,
  what = "file",
  dtypes: readonly Dtype[] = ALL,
): { metadata: Record<string, string>; arrays: Record<string, Stored> } {
  const length = headerLength(file, what);
  const { __metadata__: metadata, ...listed } = outerHeader(file.subarray(LENGTH, LENGTH + length));
  const body = file.subarray(LENGTH + length);
  const entries = Object.entries(listed);
  if (!isText(metadata ?? {}) || !entries.every(([, entry]) => isEntry(entry))) notSafetensors();
  if (!fills(entries, body.length)) notSafetensors();
  return {
    metadata: metadata ?? {},
    arrays: Object.fromEntries(entries.map(([name, one]) => [name, array(one, body, { what, dtypes })])),
  };
}

const notSafetensors = (): never => refuse("This is not a safetensors file.");

function headerLength(file: Uint8Array, what: string) {
  if (file.length > MAX_BYTES) {
    refuse(`The file has ${whole(file.length)} bytes; a ${what} has at most ${whole(MAX_BYTES)}.`);
  }
  if (file.length < LENGTH) notSafetensors();
  const length = Number(new DataView(file.buffer, file.byteOffset, LENGTH).getBigUint64(0, true));
  if (length > file.length - LENGTH) notSafetensors();
  if (length > MAX_HEADER_BYTES) {
    refuse(`The file's header has ${whole(length)} bytes; a ${what}'s has at most ${whole(MAX_HEADER_BYTES)}.`);
  }
  return length;
}

function outerHeader(bytes: Uint8Array): Record<string, any> {
  try {
    const header = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    return isObject(header) ? header : notSafetensors();
  } catch {
    return notSafetensors();
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isText = (value: unknown) => isObject(value) && Object.values(value).every((one) => typeof one === "string");

const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;

function isEntry(value: unknown): value is Entry {
  if (!isObject(value) || typeof value.dtype !== "string") return false;
  const { shape, data_offsets: offsets } = value;
  const lists = [shape, offsets].every((list) => Array.isArray(list) && list.every(isCount));
  return lists && Array.isArray(offsets) && offsets.length === 2;
}

/** Whether the arrays lie side by side and fill the rest of the file, as the format demands. */
function fills(entries: [string, Entry][], bytes: number) {
  const spans = entries.map(([, { data_offsets: span }]) => span).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let end = 0;
  for (const [from, to] of spans) {
    if (from !== end || to < from) return false;
    end = to;
  }
  return end === bytes;
}

function array(
  { dtype, shape, data_offsets: [from, to] }: Entry,
  body: Uint8Array,
  { what, dtypes }: { what: string; dtypes: readonly Dtype[] },
): Stored {
  const known = dtypes.find((one) => one === dtype);
  if (!known) {
    return refuse(`The ${what} has an array that is neither ${dtypes.slice(0, -1).join(", ")} nor ${dtypes.at(-1)}.`);
  }
  const Type = TYPES[known];
  const count = shape.reduce((product, side) => product * side, 1);
  if (count * Type.BYTES_PER_ELEMENT !== to - from) notSafetensors();
  const start = body.byteOffset + from;
  // A typed array may only lie at a multiple of its element's size, and the file may lie anywhere in a buffer.
  if (start % Type.BYTES_PER_ELEMENT !== 0) return { data: new Type(body.slice(from, to).buffer), shape, dtype };
  return { data: new Type(body.buffer as ArrayBuffer, start, count), shape, dtype };
}
