// The objects and the cross-reference table of a PDF file (ISO 32000-1, section 7.5).

import { deflate } from "./pen_font.js";

export class File {
  constructor() {
    /** @type {(Uint8Array<ArrayBuffer>[] | null)[]} the pieces of each, null while it is reserved */
    this.objects = [];
  }

  reserve() {
    return this.objects.push(null);
  }

  /** @param {number} number @param {string} text */
  set(number, text) {
    this.objects[number - 1] = [latin(text)];
  }

  /** @param {string} text */
  add(text) {
    const number = this.reserve();
    this.set(number, text);
    return number;
  }

  /** @param {string} entries @param {Uint8Array<ArrayBuffer>} bytes */
  async stream(entries, bytes) {
    const number = this.reserve();
    const packed = await deflate(bytes);
    const head = latin(`<< ${entries} /Length ${packed.byteLength} /Filter /FlateDecode >>\nstream\n`);
    this.objects[number - 1] = [head, packed, latin("\nendstream")];
    return number;
  }

  /** @param {number} root @param {number} info */
  bytes(root, info) {
    const parts = [latin("%PDF-1.7\n%\u00e2\u00e3\u00cf\u00d3\n")];
    /** @type {number[]} */
    const places = [];
    let length = parts[0].byteLength;
    /** @param {Uint8Array<ArrayBuffer>[]} some */
    const say = (...some) =>
      some.forEach((part) => {
        parts.push(part);
        length += part.byteLength;
      });
    this.objects.forEach((object, n) => {
      places.push(length);
      say(latin(`${n + 1} 0 obj\n`), ...(object ?? []), latin("\nendobj\n"));
    });
    const table = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
    const size = this.objects.length + 1;
    say(
      latin(
        `xref\n0 ${size}\n0000000000 65535 f \n${table}` +
          `trailer\n<< /Size ${size} /Root ${root} 0 R /Info ${info} 0 R >>\nstartxref\n${length}\n%%EOF\n`,
      ),
    );
    return new Blob(parts, { type: "application/pdf" });
  }
}

/** @param {string} text */
export const latin = (text) => Uint8Array.from(text, (character) => character.charCodeAt(0));
/** @param {number} code */
export const hex = (code) => code.toString(16).padStart(4, "0").toUpperCase();
/** @param {string} text */
export const utf16 = (text) => Array.from({ length: text.length }, (_, n) => hex(text.charCodeAt(n))).join("");
/** @param {string} text */
export const textString = (text) => `<FEFF${utf16(text)}>`;
