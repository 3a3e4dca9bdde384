// The embedded font of exported pictures: read from a TrueType file, and reduced to the characters in use.
//
// The subset keeps the glyph ids and empties unused glyphs, so that only the tables `glyf`, `loca` and `cmap` change;
// empty glyphs take almost no space once compressed. (OpenType specification 1.9; WOFF 1.0 of the W3C.)

/** @typedef {Map<string, Uint8Array<ArrayBuffer>>} Tables */

const KEPT = ["OS/2", "cmap", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "name", "post"];
const WHOLE = 0xb1b0afba; // the sum of all words of a correct file

export class Font {
  /**
   * `bytes` is a static TrueType file (ArrayBuffer); a RangeError says that it is none.
   * @param {ArrayBuffer} bytes
   */
  constructor(bytes) {
    this.tables = readTables(bytes);
    const [head, hhea, maxp] = ["head", "hhea", "maxp"].map((tag) => view(this.table(tag)));
    this.unit = head.getUint16(18);
    this.box = [36, 38, 40, 42].map((at) => head.getInt16(at));
    this.ascent = hhea.getInt16(4);
    this.descent = hhea.getInt16(6);
    this.count = maxp.getUint16(4);
    this.metrics = hhea.getUint16(34);
    const loca = view(this.table("loca"));
    const long = head.getInt16(50) === 1;
    this.places = Uint32Array.from({ length: this.count + 1 }, (_, n) =>
      long ? loca.getUint32(n * 4) : loca.getUint16(n * 2) * 2,
    );
    this.glyphs = readCmap(view(this.table("cmap")));
  }

  /** @param {string} tag */
  table(tag) {
    return tableOf(this.tables, tag);
  }

  /**
   * The number of a character's glyph; undefined where the font has none.
   * @param {string} character
   */
  glyph(character) {
    return this.glyphs.get(codeOf(character));
  }

  /**
   * Whether every character can be set from this font, one after the other.
   * @param {string} text
   */
  sets(text) {
    // Marks need to be placed over their letter, and that needs more than a width.
    if (/\p{M}/u.test(text)) return false;
    return Array.from(text).every((character) => this.glyph(character) !== undefined);
  }

  /**
   * How far a glyph advances, in thousandths of the type size.
   * @param {number} glyph
   */
  advance(glyph) {
    const at = Math.min(glyph, this.metrics - 1) * 4;
    return (view(this.table("hmtx")).getUint16(at) * 1000) / this.unit;
  }

  /** @param {string} text */
  width(text) {
    return Array.from(text).reduce((sum, character) => sum + this.advance(this.glyph(character) ?? 0), 0) / 1000;
  }

  /**
   * The font with these characters only, as a TrueType file.
   * @param {Set<string>} characters
   */
  subset(characters) {
    return writeFile(this.cut(characters));
  }

  /**
   * The same as a WOFF file, which is compressed.
   * @param {Set<string>} characters
   */
  woff(characters) {
    return writeWoff(this.cut(characters));
  }

  /** @param {Set<string>} characters */
  cut(characters) {
    /** @type {Map<number, number>} */
    const used = new Map();
    for (const character of characters) {
      const glyph = this.glyph(character);
      if (glyph !== undefined) used.set(codeOf(character), glyph);
    }
    const tables = new Map([...this.tables].filter(([tag]) => KEPT.includes(tag)));
    const { glyf, loca } = this.keep(this.closure([0, ...used.values()]));
    tables.set("glyf", glyf);
    tables.set("loca", loca);
    tables.set("cmap", writeCmap(used));
    const head = this.table("head").slice();
    view(head).setInt16(50, 1); // long places
    tables.set("head", head);
    return tables;
  }

  /**
   * These glyphs and all that they are put together from.
   * @param {number[]} glyphs
   */
  closure(glyphs) {
    const found = new Set(glyphs);
    // A set goes on over what is added.
    for (const glyph of found) for (const part of this.partsOf(glyph)) found.add(part);
    return found;
  }

  /** @param {number} glyph */
  partsOf(glyph) {
    const data = this.outline(glyph);
    if (data.byteLength < 10 || view(data).getInt16(0) >= 0) return [];
    const at = view(data);
    /** @type {number[]} */
    const parts = [];
    for (let offset = 10, flags = 0x20; flags & 0x20;) {
      flags = at.getUint16(offset);
      parts.push(at.getUint16(offset + 2));
      const scales = flags & 0x08 ? 2 : flags & 0x40 ? 4 : flags & 0x80 ? 8 : 0;
      offset += 4 + (flags & 0x01 ? 4 : 2) + scales;
    }
    return parts;
  }

  /** @param {number} glyph */
  outline(glyph) {
    return this.table("glyf").subarray(this.places[glyph], this.places[glyph + 1]);
  }

  /** @param {Set<number>} glyphs */
  keep(glyphs) {
    const kept = Array.from({ length: this.count }, (_, n) => (glyphs.has(n) ? this.outline(n) : new Uint8Array(0)));
    const loca = new Uint8Array((this.count + 1) * 4);
    let length = 0;
    kept.forEach((data, n) => {
      length += padded(data.byteLength);
      view(loca).setUint32((n + 1) * 4, length);
    });
    const glyf = new Uint8Array(length || 4);
    kept.forEach((data, n) => glyf.set(data, view(loca).getUint32(n * 4)));
    return { glyf, loca };
  }
}

/** @param {string} character */
const codeOf = (character) => character.codePointAt(0) ?? 0;

/** @param {Tables} tables @param {string} tag @throws {RangeError} where the font lacks it */
function tableOf(tables, tag) {
  const bytes = tables.get(tag);
  if (!bytes) throw new RangeError(`the font has no table ${tag}`);
  return bytes;
}

/** @param {Uint8Array} bytes */
const view = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
/** @param {number} length */
const padded = (length) => (length + 3) & ~3;

/** @param {ArrayBuffer} bytes */
function readTables(bytes) {
  const at = new DataView(bytes);
  if (at.getUint32(0) !== 0x00010000) throw new RangeError("this is no TrueType file");
  /** @type {Tables} */
  const tables = new Map();
  for (let n = 0; n < at.getUint16(4); n += 1) {
    const entry = 12 + n * 16;
    const tag = String.fromCharCode(...new Uint8Array(bytes, entry, 4));
    tables.set(tag, new Uint8Array(bytes, at.getUint32(entry + 8), at.getUint32(entry + 12)));
  }
  return tables;
}

/**
 * Code point -> glyph, from the table for all of Unicode (format 12) or else for its first plane (format 4).
 * @param {DataView} cmap
 */
function readCmap(cmap) {
  /** @type {Map<number, number>} */
  const found = new Map();
  for (let n = 0; n < cmap.getUint16(2); n += 1) {
    const offset = cmap.getUint32(4 + n * 8 + 4);
    const format = cmap.getUint16(offset);
    if (format === 12) readGroups(cmap, offset, found);
    else if (format === 4) readSegments(cmap, offset, found);
  }
  return found;
}

/** @param {DataView} cmap @param {number} offset @param {Map<number, number>} found */
function readGroups(cmap, offset, found) {
  for (let n = 0; n < cmap.getUint32(offset + 12); n += 1) {
    const [first, last, glyph] = [0, 4, 8].map((by) => cmap.getUint32(offset + 16 + n * 12 + by));
    for (let code = first; code <= last; code += 1) found.set(code, glyph + code - first);
  }
}

/** @param {DataView} cmap @param {number} offset @param {Map<number, number>} found */
function readSegments(cmap, offset, found) {
  const size = cmap.getUint16(offset + 6); // twice the number of segments
  for (let n = 0; n < size; n += 2) {
    const [ends, starts] = [offset + 14 + n, offset + 16 + size + n];
    const [delta, range] = [starts + size, starts + 2 * size].map((at) => cmap.getUint16(at));
    for (let code = cmap.getUint16(starts); code <= cmap.getUint16(ends) && code < 0xffff; code += 1) {
      const own = range ? cmap.getUint16(starts + 2 * size + range + 2 * (code - cmap.getUint16(starts))) : code;
      const glyph = own && (own + delta) & 0xffff;
      if (glyph) found.set(code, glyph);
    }
  }
}

/**
 * A format 12 table with a group for each character.
 * @param {Map<number, number>} used
 */
function writeCmap(used) {
  const codes = [...used].sort(([a], [b]) => a - b);
  const bytes = new Uint8Array(12 + 16 + codes.length * 12);
  const at = view(bytes);
  [
    [2, 1],
    [4, 3],
    [6, 10],
  ].forEach(([offset, value]) => at.setUint16(offset, value)); // one table: Windows, all of Unicode
  at.setUint32(8, 12);
  at.setUint16(12, 12);
  at.setUint32(16, bytes.byteLength - 12);
  at.setUint32(24, codes.length);
  codes.forEach(([code, glyph], n) =>
    [code, code, glyph].forEach((value, k) => at.setUint32(28 + n * 12 + k * 4, value)),
  );
  return bytes;
}

/** @param {Uint8Array} bytes */
function checksum(bytes) {
  let sum = 0;
  for (let n = 0; n < bytes.byteLength; n += 1) sum = (sum + bytes[n] * 2 ** (24 - 8 * (n % 4))) % 2 ** 32;
  return sum;
}

/** @param {Tables} tables */
function writeFile(tables) {
  const tags = [...tables.keys()].sort();
  const start = 12 + tags.length * 16;
  const file = new Uint8Array(tags.reduce((sum, tag) => sum + padded(tableOf(tables, tag).byteLength), start));
  const at = view(file);
  const power = 2 ** Math.floor(Math.log2(tags.length));
  at.setUint32(0, 0x00010000);
  [tags.length, power * 16, Math.log2(power), (tags.length - power) * 16].forEach((value, n) =>
    at.setUint16(4 + n * 2, value),
  );
  view(tableOf(tables, "head")).setUint32(8, 0);
  let offset = start;
  tags.forEach((tag, n) => {
    const bytes = tableOf(tables, tag);
    file.set(bytes, offset);
    file.set(
      [...tag].map((letter) => letter.charCodeAt(0)),
      12 + n * 16,
    );
    [checksum(bytes), offset, bytes.byteLength].forEach((value, k) => at.setUint32(16 + n * 16 + k * 4, value));
    offset += padded(bytes.byteLength);
  });
  const head = at.getUint32(12 + tags.indexOf("head") * 16 + 8);
  at.setUint32(head + 8, (WHOLE - checksum(file) + 2 ** 32) % 2 ** 32);
  return file;
}

/** @param {Tables} tables */
async function writeWoff(tables) {
  const tags = [...tables.keys()].sort();
  const whole = writeFile(tables);
  tables.set("head", tableOf(readTables(whole.buffer), "head")); // with the sum of the whole
  const packed = await Promise.all(
    tags.map(async (tag) => {
      const small = await deflate(tableOf(tables, tag));
      return small.byteLength < tableOf(tables, tag).byteLength ? small : tableOf(tables, tag);
    }),
  );
  const start = 44 + tags.length * 20;
  const file = new Uint8Array(packed.reduce((sum, bytes) => sum + padded(bytes.byteLength), start));
  const at = view(file);
  [
    [0, 0x774f4646],
    [4, 0x00010000],
    [8, file.byteLength],
    [16, whole.byteLength],
  ].forEach(([offset, value]) => at.setUint32(offset, value));
  at.setUint16(12, tags.length);
  let offset = start;
  tags.forEach((tag, n) => {
    const bytes = tableOf(tables, tag);
    const sum = checksum(tag === "head" ? zeroed(bytes) : bytes);
    file.set(
      [...tag].map((letter) => letter.charCodeAt(0)),
      44 + n * 20,
    );
    [offset, packed[n].byteLength, bytes.byteLength, sum].forEach((value, k) =>
      at.setUint32(48 + n * 20 + k * 4, value),
    );
    file.set(packed[n], offset);
    offset += padded(packed[n].byteLength);
  });
  return file;
}

/**
 * `head` as its own checksum counts it: without the sum of the whole file.
 * @param {Uint8Array} head
 */
function zeroed(head) {
  const copy = head.slice();
  view(copy).setUint32(8, 0);
  return copy;
}

/**
 * Compresses as zlib does.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export async function deflate(bytes) {
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}
