// Writes a record of marks as PDF 1.7 (ISO 32000-1): one page, text that can be searched and copied, the font inside.
//
// Text in characters that the font lacks, or whose letters join or stack, is drawn as an image, with unseen text over
// it to search and copy. The font's glyph numbers are the codes of what is written; codes from UNSEEN on have no glyph.

import { measure } from "./pen.js";
import { fontName, textImage } from "./pen_canvas.js";
import { deflate } from "./pen_font.js";
import { chain, eachCell, RIGHT_TO_LEFT, short } from "./pen_svg.js";

const POINTS = 0.75; // a CSS pixel in points
const UNSEEN = 0xe000;
const RIGHT_TO_LEFT_RUN = new RegExp(`${RIGHT_TO_LEFT.source}(?:[\\s\\p{M}]*${RIGHT_TO_LEFT.source})*`, "gu");
const SHARP = 4; // pixels of an image of text for one of the picture's
const OVERLAP = 0.2; // px that a cell reaches under the next: without it most viewers show a pale seam between them
const NAMES = { regular: "SourceSans-Regular", bold: "SourceSans-Semibold" };

/**
 * Writes {marks, width, height, paper, title, caption} as bytes; `fonts` is {regular, bold}, `family` the canvas's
 * font.
 */
export async function toPdf(picture, fonts, family) {
  const file = new File();
  const page = new Page(file, fonts, family);
  const { width, height, paper, marks, title, caption } = picture;
  page.say(`${POINTS} 0 0 ${-POINTS} 0 ${short(height * POINTS, 3)} cm`);
  if (paper) page.shape({ path: [["R", 0, 0, width, height]], fill: paper, alpha: 1 });
  for (const mark of marks) await page.draw(mark);
  page.within([]);
  const content = await file.stream("", latin(page.lines.join("\n")));
  const resources = await page.resources();
  const box = `[0 0 ${short(width * POINTS, 3)} ${short(height * POINTS, 3)}]`;
  const tree = file.reserve();
  const sheet = file.add(
    `<< /Type /Page /Parent ${tree} 0 R /MediaBox ${box} /Resources ${resources} /Contents ${content} 0 R >>`,
  );
  file.set(tree, `<< /Type /Pages /Kids [${sheet} 0 R] /Count 1 >>`);
  const info = file.add(`<< /Title ${textString(title)} /Subject ${textString(caption)} /Creator (attnviz) >>`);
  const root = file.add(`<< /Type /Catalog /Pages ${tree} 0 R /ViewerPreferences << /DisplayDocTitle true >> >>`);
  return file.bytes(root, info);
}

class Page {
  constructor(file, fonts, family) {
    Object.assign(this, { file, fonts, family, lines: [], open: [], alphas: new Map(), images: [] });
    this.written = { regular: new Map(), bold: new Map() }; // code -> the character that it stands for
  }

  say(...operators) {
    this.lines.push(...operators);
  }

  async draw(mark) {
    this.within(chain(mark.clip));
    await this[mark.kind](mark);
  }

  /** Clips only ever grow narrower: to leave one, the state from before it is taken back. */
  within(clips) {
    const differs = this.open.findIndex((clip, n) => clip !== clips[n]);
    const kept = differs === -1 ? this.open.length : differs;
    for (let n = this.open.length; n > kept; n -= 1) this.say("Q");
    for (const clip of clips.slice(kept)) this.say("q", outline(clip.path), "W n");
    this.open = clips;
  }

  /** Sets opacity for both filling and stroking. */
  alpha(value) {
    const name = short(value, 3);
    if (!this.alphas.has(name)) this.alphas.set(name, `G${this.alphas.size}`);
    this.say(`/${this.alphas.get(name)} gs`);
  }

  shape({ path, fill, stroke, lineWidth, dash = [], alpha }) {
    this.alpha(alpha);
    if (fill) this.say(`${channels(fill)} rg`);
    if (stroke) this.say(`${channels(stroke)} RG ${short(lineWidth, 3)} w [${dash.join(" ")}] 0 d`);
    this.say(outline(path), fill && stroke ? "B" : fill ? "f" : "S");
  }

  // ---- text

  /**
   * What the font can set is set; the rest is drawn, piece by piece where that leaves the order of the letters alone.
   */
  async text(mark) {
    const own = this.fonts[weight(mark)];
    const pieces = RIGHT_TO_LEFT.test(mark.text) ? [{ text: mark.text, set: false }] : piecesOf(mark.text, own);
    for (const piece of pieces) {
      piece.width = piece.set ? own.width(piece.text) * mark.size : widthOf(piece.text, mark, this.family);
    }
    const whole = pieces.reduce((sum, { width }) => sum + width, 0);
    let x = { start: 0, middle: -whole / 2, end: -whole }[mark.anchor];
    this.alpha(mark.alpha);
    for (const { text, set, width } of pieces) {
      if (!set) await this.textAsImage({ ...mark, text, width }, x);
      this.letters({ ...mark, text, set }, x);
      x += width;
    }
  }

  /** Writes letters, seen or not. What is not seen is what a drawn text says: for who searches, copies or listens. */
  letters(mark, x) {
    const { text, set, size, fill } = mark;
    const font = weight(mark);
    const codes = Array.from(inOrderSeen(text), (character) => hex(this.code(font, character, set))).join("");
    const [a, b, c, d, e, f] = mark.matrix;
    const place = [a, b, -c, -d, a * x + e, b * x + f]; // letters stand upright on a page that counts downwards
    this.say("BT", `${channels(fill)} rg /${FONTS[font]} ${short(size, 3)} Tf ${set ? 0 : 3} Tr`);
    this.say(`${place.map((value) => short(value, 4)).join(" ")} Tm <${codes}> Tj`, "ET");
  }

  /** The number that stands for a character; one that is not drawn gets a number that has no glyph. */
  code(font, character, set) {
    const codes = this.written[font];
    const glyph = this.fonts[font].glyph(character);
    if (set) {
      codes.set(glyph, character);
      return glyph;
    }
    const known = [...codes].find(([code, own]) => code >= UNSEEN && own === character);
    const code = known?.[0] ?? UNSEEN + codes.size;
    codes.set(code, character);
    return code;
  }

  async textAsImage(mark, start) {
    const { canvas, x, y, width, height } = textImage(mark, { scale: SHARP, family: this.family });
    const image = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const matrix = mark.matrix.map((value) => short(value, 4)).join(" ");
    this.say("q", `${matrix} cm`);
    await this.embed(image, { x: x + start, y, width, height });
    this.say("Q");
  }

  // ---- images

  async image(mark) {
    this.alpha(mark.alpha);
    if (!mark.cells) {
      await this.embed(mark.image, mark);
      return;
    }
    for (const { x, y, width, height, hex: colour } of eachCell(mark)) {
      const box = [x, y, width + OVERLAP, height + OVERLAP].map((value) => short(value, 3)).join(" ");
      this.say(`${channels(colour)} rg ${box} re f`);
    }
  }

  async embed(image, { x, y, width, height }) {
    const count = image.width * image.height;
    const [colours, mask] = [new Uint8Array(count * 3), new Uint8Array(count)];
    for (let n = 0; n < count; n += 1) {
      colours.set(image.data.subarray(n * 4, n * 4 + 3), n * 3);
      mask[n] = image.data[n * 4 + 3];
    }
    const size = `/Type /XObject /Subtype /Image /Width ${image.width} /Height ${image.height} /BitsPerComponent 8`;
    const solid = mask.every((alpha) => alpha === 255);
    const under = solid ? "" : ` /SMask ${await this.file.stream(`${size} /ColorSpace /DeviceGray`, mask)} 0 R`;
    this.images.push(await this.file.stream(`${size} /ColorSpace /DeviceRGB${under}`, colours));
    const place = [width, 0, 0, -height, x, y + height].map((value) => short(value, 3)).join(" ");
    this.say(`q ${place} cm /I${this.images.length - 1} Do Q`);
  }

  // ---- what the page refers to

  async resources() {
    const states = [...this.alphas].map(([value, name]) => `/${name} << /ca ${value} /CA ${value} >>`).join(" ");
    const images = this.images.map((number, n) => `/I${n} ${number} 0 R`).join(" ");
    const fonts = await Promise.all(
      Object.entries(FONTS).map(([font, name]) => this.font(font).then((number) => number && `/${name} ${number} 0 R`)),
    );
    return `<< /ExtGState << ${states} >> /XObject << ${images} >> /Font << ${fonts.filter(Boolean).join(" ")} >> >>`;
  }

  /** A weight with the glyphs that are used, or 0 where none is. */
  async font(name) {
    const codes = this.written[name];
    if (!codes.size) return 0;
    const { file, fonts } = this;
    const font = fonts[name];
    const drawn = [...codes].filter(([code]) => code < UNSEEN);
    const named = `ATTNVZ+${NAMES[name]}`;
    const bytes = font.subset(new Set(drawn.map(([, character]) => character)));
    const program = await file.stream(`/Length1 ${bytes.byteLength}`, bytes);
    const thousandths = (value) => Math.round((value * 1000) / font.unit);
    const [ascent, descent] = [thousandths(font.ascent), thousandths(font.descent)];
    const descriptor = file.add(
      `<< /Type /FontDescriptor /FontName /${named} /Flags 4 /FontBBox [${font.box.map(thousandths).join(" ")}] ` +
        `/ItalicAngle 0 /Ascent ${ascent} /Descent ${descent} /CapHeight ${ascent} ` +
        `/StemV ${name === "bold" ? 120 : 80} /FontFile2 ${program} 0 R >>`,
    );
    const widths = drawn.map(([code]) => `${code} [${short(font.advance(code))}]`).join(" ");
    const own = file.add(
      `<< /Type /Font /Subtype /CIDFontType2 /BaseFont /${named} ` +
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> " +
        `/FontDescriptor ${descriptor} 0 R /DW 500 /W [${widths}] /CIDToGIDMap /Identity >>`,
    );
    const meanings = await file.stream("", latin(toUnicode(codes)));
    return file.add(
      `<< /Type /Font /Subtype /Type0 /BaseFont /${named} /Encoding /Identity-H ` +
        `/DescendantFonts [${own} 0 R] /ToUnicode ${meanings} 0 R >>`,
    );
  }
}

const weight = ({ bold }) => (bold ? "bold" : "regular");
const widthOf = (text, mark, family) => measure(fontName(mark, family), text).width;

/**
 * A text with what runs from right to left turned round: readers of PDF expect letters in the order in which they
 * stand.
 */
function inOrderSeen(text) {
  return text.replace(RIGHT_TO_LEFT_RUN, (run) => Array.from(run).reverse().join(""));
}

/** A text in pieces {text, set}: as long as the font can set it, and as long as it can not. */
function piecesOf(text, font) {
  const pieces = [];
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const set = font.sets(segment);
    if (pieces.at(-1)?.set === set) pieces.at(-1).text += segment;
    else pieces.push({ text: segment, set });
  }
  return pieces;
}

const FONTS = { regular: "F4", bold: "F6" };

/** Which character each code stands for, for those who search or copy. A block may hold a hundred at most. */
function toUnicode(codes) {
  const lines = [...codes].map(([code, character]) => `<${hex(code)}> <${utf16(character)}>`);
  const blocks = [];
  for (let n = 0; n < lines.length; n += 100) {
    const some = lines.slice(n, n + 100);
    blocks.push(`${some.length} beginbfchar\n${some.join("\n")}\nendbfchar`);
  }
  return [
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
    "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def",
    "/CMapName /Adobe-Identity-UCS def /CMapType 2 def",
    "1 begincodespacerange <0000> <FFFF> endcodespacerange",
    ...blocks,
    "endcmap CMapName currentdict /CMap defineresource pop end end",
  ].join("\n");
}

class File {
  constructor() {
    this.objects = [];
  }

  reserve() {
    return this.objects.push(null);
  }

  set(number, text) {
    this.objects[number - 1] = [latin(text)];
  }

  add(text) {
    const number = this.reserve();
    this.set(number, text);
    return number;
  }

  async stream(entries, bytes) {
    const number = this.reserve();
    const packed = await deflate(bytes);
    const head = latin(`<< ${entries} /Length ${packed.byteLength} /Filter /FlateDecode >>\nstream\n`);
    this.objects[number - 1] = [head, packed, latin("\nendstream")];
    return number;
  }

  bytes(root, info) {
    const parts = [latin("%PDF-1.7\n%\u00e2\u00e3\u00cf\u00d3\n")];
    const places = [];
    let length = parts[0].byteLength;
    const say = (...some) =>
      some.forEach((part) => {
        parts.push(part);
        length += part.byteLength;
      });
    this.objects.forEach((object, n) => {
      places.push(length);
      say(latin(`${n + 1} 0 obj\n`), ...object, latin("\nendobj\n"));
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

const latin = (text) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const hex = (code) => code.toString(16).padStart(4, "0").toUpperCase();
const utf16 = (text) => Array.from({ length: text.length }, (_, n) => hex(text.charCodeAt(n))).join("");
const textString = (text) => `<FEFF${utf16(text)}>`;
const channels = (colour) =>
  [1, 3, 5].map((at) => short(Number.parseInt(colour.slice(at, at + 2), 16) / 255, 4)).join(" ");

function outline(path) {
  const operators = { M: "m", L: "l", C: "c", R: "re", Z: "h" };
  return path
    .map(([name, ...numbers]) => [...numbers.map((value) => short(value, 3)), operators[name]].join(" "))
    .join("\n");
}
