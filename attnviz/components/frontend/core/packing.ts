// Reads the format of attnviz/components/packing.py: a u32 header length, a JSON header, then the arrays.

export type ArrayEntry = { name: string; dtype: keyof typeof TYPES; shape: number[] };

const TYPES = { f4: Float32Array, u2: Uint16Array, u1: Uint8Array };

/**
 * Reads a payload; arrays are views on it where its alignment allows.
 * @throws {RangeError} where an array is longer than the payload
 */
export function unpack<Header>(payload: Uint8Array): Payload<Header> {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const length = view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(payload.subarray(4, 4 + length)));
  const arrays: Arrays = {};
  let offset = 4 + length;
  for (const { name, dtype, shape } of header.arrays as ArrayEntry[]) {
    const Type = TYPES[dtype];
    const count = shape.reduce((product, side) => product * side, 1);
    const bytes = count * Type.BYTES_PER_ELEMENT;
    if (offset + bytes > payload.byteLength) throw new RangeError(`array ${name} runs past the payload's end`);
    arrays[name] = { data: typed(Type, payload, offset, count), shape };
    offset += bytes;
  }
  return { header, arrays };
}

function typed(Type: (typeof TYPES)[keyof typeof TYPES], payload: Uint8Array, offset: number, count: number) {
  const start = payload.byteOffset + offset;
  // A typed array may only lie at a multiple of its element's size, and a websocket frame puts the payload anywhere.
  if (start % Type.BYTES_PER_ELEMENT === 0) return new Type(payload.buffer as ArrayBuffer, start, count);
  return new Type(payload.slice(offset, offset + count * Type.BYTES_PER_ELEMENT).buffer);
}
