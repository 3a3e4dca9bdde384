// Writes recorded marks as PDF 1.7 (ISO 32000-1): one page, with searchable text and an embedded font.
//
// Text with characters that the font lacks, or in scripts that need shaping, is drawn as an image, with invisible text
// over it to search and copy. Character codes are the font's glyph ids; codes from UNSEEN on have no glyph.

import { contextOf } from "./dom.js";
import { measure } from "./pen_measure.js";
import { fontName, textImage } from "./pen_canvas.js";
import { File, hex, latin, textString, utf16 } from "./pen_pdf_file.js";
import { chain, eachCell, RIGHT_TO_LEFT, short } from "./pen_svg.js";

/** @typedef {"regular" | "bold"} Weight */
/** @typedef {Map<number, string>} Codes the character that each code stands for */

const POINTS = 0.75; // a CSS pixel in points
const UNSEEN = 0xe000;
const RIGHT_TO_LEFT_RUN = new RegExp(`${RIGHT_TO_LEFT.source}(?:[\\s\\p{M}]*${RIGHT_TO_LEFT.source})*`, "gu");
const SHARP = 4; // pixels of an image of text for one of the picture's
const OVERLAP = 0.2; // px that a cell reaches under the next: without it most viewers show a pale seam between them
const NAMES = { regular: "SourceSans-Regular", bold: "SourceSans-Semibold" };

/**
 * Writes {marks, width, height, paper, title, caption} as bytes; `fonts` is {regular, bold}, `family` the canvas's
 * font.
 * @param {Sheet} picture @param {Fonts} fonts @param {string} family
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
  /** @param {File} file @param {Fonts} fonts @param {string} family */
  constructor(file, fonts, family) {
    this.file = file;
    this.fonts = fonts;
    this.family = family;
    /** @type {string[]} */
    this.lines = [];
    /** @type {Clip[]} */
    this.open = [];
    /** @type {Map<string, string>} */
    this.alphas = new Map();
    /** @type {number[]} */
    this.images = [];
    /** @type {Record<Weight, Codes>} */
    this.written = { regular: new Map(), bold: new Map() };
  }

  /** @param {string[]} operators */
  say(...operators) {
    this.lines.push(...operators);
  }

  /** @param {Mark} mark */
  async draw(mark) {
    this.within(chain(mark.clip));
    if (mark.kind === "shape") this.shape(mark);
    else if (mark.kind === "text") await this.text(mark);
    else await this.image(mark);
  }

  /**
   * Clips only ever grow narrower: to leave one, the state from before it is taken back.
   * @param {Clip[]} clips
   */
  within(clips) {
    const differs = this.open.findIndex((clip, n) => clip !== clips[n]);
    const kept = differs === -1 ? this.open.length : differs;
    for (let n = this.open.length; n > kept; n -= 1) this.say("Q");
    for (const clip of clips.slice(kept)) this.say("q", outline(clip.path), "W n");
    this.open = clips;
  }

  /**
   * Sets opacity for both filling and stroking.
   * @param {number} value
   */
  alpha(value) {
    const name = short(value, 3);
    if (!this.alphas.has(name)) this.alphas.set(name, `G${this.alphas.size}`);
    this.say(`/${this.alphas.get(name)} gs`);
  }

  /** @param {Pick<ShapeMark, "path" | "fill" | "alpha"> & Partial<ShapeMark>} shape */
  shape({ path, fill, stroke, lineWidth = 0, dash = [], alpha }) {
    this.alpha(alpha);
    if (fill) this.say(`${channels(fill)} rg`);
    if (stroke) this.say(`${channels(stroke)} RG ${short(lineWidth, 3)} w [${dash.join(" ")}] 0 d`);
    this.say(outline(path), fill && stroke ? "B" : fill ? "f" : "S");
  }

  // ---- text

  /**
   * What the font can set is set; the rest is drawn, piece by piece where that leaves the order of the letters alone.
   * @param {TextMark} mark
   */
  async text(mark) {
    const own = this.fonts[weight(mark)];
    const parts = RIGHT_TO_LEFT.test(mark.text) ? [{ text: mark.text, set: false }] : piecesOf(mark.text, own);
    const pieces = parts.map(({ text, set }) => {
      return { text, set, width: set ? own.width(text) * mark.size : widthOf(text, mark, this.family) };
    });
    const whole = pieces.reduce((sum, { width }) => sum + width, 0);
    let x = { start: 0, middle: -whole / 2, end: -whole }[mark.anchor];
    this.alpha(mark.alpha);
    for (const { text, set, width } of pieces) {
      if (!set) await this.textAsImage({ ...mark, text, width }, x);
      this.letters({ ...mark, text, set }, x);
      x += width;
    }
  }

  /**
   * Writes letters, seen or not. What is not seen is what a drawn text says: for who searches, copies or listens.
   * @param {TextMark & { set: boolean }} mark @param {number} x
   */
  letters(mark, x) {
    const { text, set, size, fill } = mark;
    const font = weight(mark);
    const codes = Array.from(inOrderSeen(text), (character) => hex(this.code(font, character, set))).join("");
    const [a, b, c, d, e, f] = mark.matrix;
    const place = [a, b, -c, -d, a * x + e, b * x + f]; // letters stand upright on a page that counts downwards
    this.say("BT", `${channels(fill)} rg /${FONTS[font]} ${short(size, 3)} Tf ${set ? 0 : 3} Tr`);
    this.say(`${place.map((value) => short(value, 4)).join(" ")} Tm <${codes}> Tj`, "ET");
  }

  /**
   * The number that stands for a character; one that is not drawn gets a number that has no glyph.
   * @param {Weight} font @param {string} character @param {boolean} set
   */
  code(font, character, set) {
    const codes = this.written[font];
    const glyph = this.fonts[font].glyph(character);
    if (set && glyph !== undefined) {
      codes.set(glyph, character);
      return glyph;
    }
    const known = [...codes].find(([code, own]) => code >= UNSEEN && own === character);
    const code = known?.[0] ?? UNSEEN + codes.size;
    codes.set(code, character);
    return code;
  }

  /** @param {TextMark} mark @param {number} start */
  async textAsImage(mark, start) {
    const { canvas, x, y, width, height } = textImage(mark, { scale: SHARP, family: this.family });
    const image = contextOf(canvas).getImageData(0, 0, canvas.width, canvas.height);
    const matrix = mark.matrix.map((value) => short(value, 4)).join(" ");
    this.say("q", `${matrix} cm`);
    await this.embed(image, { x: x + start, y, width, height });
    this.say("Q");
  }

  // ---- images

  /** @param {ImageMark} mark */
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

  /** @param {ImageData} image @param {Box} box */
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
      WEIGHTS.map((font) => this.font(font).then((number) => number && `/${FONTS[font]} ${number} 0 R`)),
    );
    return `<< /ExtGState << ${states} >> /XObject << ${images} >> /Font << ${fonts.filter(Boolean).join(" ")} >> >>`;
  }

  /**
   * A weight with the glyphs that are used, or 0 where none is.
   * @param {Weight} name
   */
  async font(name) {
    const codes = this.written[name];
    if (!codes.size) return 0;
    const { file, fonts } = this;
    const font = fonts[name];
    const drawn = [...codes].filter(([code]) => code < UNSEEN);
    const named = `ATTNVZ+${NAMES[name]}`;
    const bytes = font.subset(new Set(drawn.map(([, character]) => character)));
    const program = await file.stream(`/Length1 ${bytes.byteLength}`, bytes);
    /** @param {number} value */
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

/** @param {{ bold: boolean }} mark @returns {Weight} */
const weight = ({ bold }) => (bold ? "bold" : "regular");
/** @param {string} text @param {TextMark} mark @param {string} family */
const widthOf = (text, mark, family) => measure(fontName(mark, family), text).width;

/**
 * A text with what runs from right to left turned round: readers of PDF expect letters in the order in which they
 * stand.
 * @param {string} text
 */
function inOrderSeen(text) {
  return text.replace(RIGHT_TO_LEFT_RUN, (run) => Array.from(run).reverse().join(""));
}

/**
 * A text in pieces {text, set}: as long as the font can set it, and as long as it can not.
 * @param {string} text @param {import("./pen_font.js").Font} font
 */
function piecesOf(text, font) {
  /** @type {{ text: string, set: boolean }[]} */
  const pieces = [];
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const set = font.sets(segment);
    const last = pieces.at(-1);
    if (last?.set === set) last.text += segment;
    else pieces.push({ text: segment, set });
  }
  return pieces;
}

/** @type {Weight[]} */
const WEIGHTS = ["regular", "bold"];
const FONTS = { regular: "F4", bold: "F6" };

/**
 * Which character each code stands for, for those who search or copy. A block may hold a hundred at most.
 * @param {Codes} codes
 */
function toUnicode(codes) {
  const lines = [...codes].map(([code, character]) => `<${hex(code)}> <${utf16(character)}>`);
  /** @type {string[]} */
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

/** @param {string} colour */
const channels = (colour) =>
  [1, 3, 5].map((at) => short(Number.parseInt(colour.slice(at, at + 2), 16) / 255, 4)).join(" ");

/** @param {PathStep[]} path */
function outline(path) {
  /** @type {Record<string, string>} */
  const operators = { M: "m", L: "l", C: "c", R: "re", Z: "h" };
  return path
    .map(([name, ...numbers]) => [...numbers.map((value) => short(value, 3)), operators[name]].join(" "))
    .join("\n");
}
