// Writes a GIF that moves: https://www.w3.org/Graphics/GIF/spec-gif89a.txt. One palette for all frames; of each frame
// only the part that differs from the one before.

import { paletteOf } from "./palette.ts";

const CLEAR = 256;
const END = 257;
const MOST_CODES = 4096;
const BLOCK = 255; // bytes
const UNCHANGED = 255; // the colour that shows what lies below

export class Gif {
  width: number;
  height: number;
  palette;
  shown: Uint8Array | null = null;
  parts: (Uint8Array | number[])[];
  /** the frame that may last longer */
  last: { head: number[]; body: Uint8Array; delay: number } | null = null;

  /** @param samples pixels that have all colours @param words that a comment of the file holds */
  constructor(width: number, height: number, samples: Uint32Array[], words: FileWords) {
    this.width = width;
    this.height = height;
    this.palette = paletteOf(samples, UNCHANGED);
    this.parts = [this.header(), commentOf(words)];
  }

  header() {
    const colours = Array.from({ length: 256 }, (_, n) => this.palette.colours[n] ?? [0, 0, 0]);
    const forever = [0x21, 0xff, 11, ...bytes("NETSCAPE2.0"), 3, 1, 0, 0, 0];
    const screen = [...word(this.width), ...word(this.height), 0xf7, 0, 0];
    return [...bytes("GIF89a"), ...screen, ...colours.flat(), ...forever];
  }

  /** Adds a frame. @param pixels RGBA, little-endian @param delay in 1/100 s */
  add(pixels: Uint32Array, delay: number) {
    const now = this.palette.map(pixels);
    const box = this.changed(now);
    if (!box && this.last) {
      this.last.delay += delay;
      return;
    }
    this.flush();
    const { x, y, width, height } = box ?? { x: 0, y: 0, width: 1, height: 1 };
    const part = new Uint8Array(width * height);
    for (let row = 0; row < height; row += 1) {
      for (let column = 0; column < width; column += 1) {
        const at = (y + row) * this.width + x + column;
        part[row * width + column] = this.shown?.[at] === now[at] ? UNCHANGED : now[at];
      }
    }
    const head = [0x2c, ...word(x), ...word(y), ...word(width), ...word(height), 0, 8];
    this.last = { head, body: compressed(part), delay };
    this.shown = now;
  }

  /** The smallest box with all that differs; null where nothing does. */
  changed(now: Uint8Array) {
    const { shown, width, height } = this;
    if (!shown) return { x: 0, y: 0, width, height };
    let [left, right, top, bottom] = [width, -1, height, -1];
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        if (shown[y * width + x] === now[y * width + x]) continue;
        if (x < left) left = x;
        if (x > right) right = x;
        if (y < top) top = y;
        bottom = y;
      }
    }
    return right < 0 ? null : { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
  }

  flush() {
    if (!this.last) return;
    const { head, body, delay } = this.last;
    this.parts.push([0x21, 0xf9, 4, 0x05, ...word(delay), UNCHANGED, 0], head, body);
    this.last = null;
  }

  /** The file. */
  blob() {
    this.flush();
    const parts = [...this.parts, [0x3b]].map((part) => Uint8Array.from(part));
    return new Blob(parts, { type: "image/gif" });
  }
}

/** Two bytes. */
const word = (n: number) => [n & 255, n >> 8];

const bytes = (text: string) => Array.from(text, (letter) => letter.charCodeAt(0));

/** What the file shows, in UTF-8. */
function commentOf({ title, caption }: FileWords) {
  const text = [title, caption].filter(Boolean).join("\n");
  return text ? [0x21, 0xfe, ...blocksOf([...new TextEncoder().encode(text)])] : [];
}

/** Bytes in blocks, each after its length; an empty one is the last. */
function blocksOf(data: number[]) {
  const blocks = [];
  for (let at = 0; at < data.length; at += BLOCK) {
    const block = data.slice(at, at + BLOCK);
    blocks.push(block.length, ...block);
  }
  return Uint8Array.from([...blocks, 0]);
}

/** Indices as LZW codes in blocks. */
function compressed(indices: Uint8Array) {
  const out = new Codes();
  const next = new Uint16Array(MOST_CODES * 256); // the code of a known run and one more index; 0 where there is none
  let [count, size] = [END + 1, 9];
  out.write(CLEAR, size);
  let run = indices[0];
  for (let n = 1; n < indices.length; n += 1) {
    const at = run * 256 + indices[n];
    if (next[at]) {
      run = next[at];
      continue;
    }
    out.write(run, size);
    run = indices[n];
    if (count < MOST_CODES) {
      if (count === 1 << size) size += 1;
      next[at] = count;
      count += 1;
    } else {
      out.write(CLEAR, size);
      next.fill(0);
      [count, size] = [END + 1, 9];
    }
  }
  out.write(run, size);
  out.write(END, size);
  return out.blocks();
}

/** Codes of several bits, the lowest bit first. */
class Codes {
  bytes: number[] = [];
  rest = 0;
  bits = 0;

  /** @param size in bits */
  write(code: number, size: number) {
    this.rest |= code << this.bits;
    this.bits += size;
    while (this.bits >= 8) {
      this.bytes.push(this.rest & 255);
      this.rest >>>= 8;
      this.bits -= 8;
    }
  }

  blocks() {
    if (this.bits) this.bytes.push(this.rest & 255);
    return blocksOf(this.bytes);
  }
}
