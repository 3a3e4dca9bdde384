// Where the parts of a model are drawn, from left to right: a pure function. Stacks lie one below the other;
// blocks that are not chosen are closed where there is no room for all.

/** Lengths in px for type of the size 1 */
const GAPS = [15, 12, 10]; // between parts: the widest that fits
const PAD = 6; // in a box, beside its text
const ADD = 26; // the circle of a sum
const CLOSED = 26; // a block, at least
const BETWEEN = 13; // blocks
const HEIGHTS = { box: 42, label: 17, bypass: 11, below: 8, bus: 18 };
const STRIPE = { thick: 22, thin: 2 }; // the line of the widest matrix, and the thinnest line
const ROUND = 5;

/** @typedef {{ chosen: string, width: number, type: number, widthOf: WidthOf }} Given
 * `chosen` is the id of a part, `width` the room, `type` the size of letters, `widthOf` measures a text of that size
 */

/**
 * @param {Stack[]} stacks @param {Given} given @returns {DiagramLayout}
 */
export function layoutOf(stacks, given) {
  const whole = new Layout(stacks, given, null, GAPS[0]);
  if (whole.width <= given.width) return whole.done();
  const open = blockOf(stacks, given.chosen);
  const made = GAPS.map((gap) => new Layout(stacks, given, open, gap));
  return (made.find(({ width }) => width <= given.width) ?? made[0]).done();
}

/**
 * The id of the block that a part stands in; of one before or after all blocks, that of the block next to it.
 * @param {Stack[]} stacks @param {string} chosen
 */
function blockOf(stacks, chosen) {
  for (const { blocks } of stacks) {
    const at = blocks.findIndex(({ parts }) => parts.some(({ id }) => id === chosen));
    const near = [blocks[at], blocks[at + 1], blocks[at - 1]].find(
      (block) => at >= 0 && (block?.number ?? null) !== null,
    );
    if (near) return near.id;
  }
  return "";
}

class Layout {
  /**
   * `open` is the id of the one block that is open, null where all are.
   * @param {Stack[]} stacks @param {Given} given @param {string | null} open @param {number} gap between parts
   */
  constructor(stacks, { type, widthOf }, open, gap) {
    this.stacks = stacks;
    this.open = open;
    this.gap = gap;
    this.widthOf = widthOf;
    this.unit = type / 12.5;
    const { label, bypass, box, below } = HEIGHTS;
    this.above = label * this.unit + bypass;
    this.box = box * this.unit;
    this.lane = this.above + this.box + below;
    const widest = Math.max(...stacks.flatMap(widthsIn));
    this.scale = STRIPE.thick / widest;
    /** @type {DiagramBox[]} */
    this.boxes = [];
    /** @type {DiagramLine[]} */
    this.lines = [];
    /** @type {DiagramFrame[]} */
    this.frames = [];
    /** @type {DiagramLayout["words"]} */
    this.words = [];
    /** @type {{ x: number, order: number }[]} where attention to the encoder takes its keys and values */
    this.crossings = [];
    this.order = 0;
    this.width = 0;
    this.ends = stacks.map((stack, n) => this.stack(stack, n * (this.lane + HEIGHTS.bus)));
  }

  /** @returns {DiagramLayout} */
  done() {
    this.bus();
    const { boxes, lines, frames, words, width, lane, stacks } = this;
    const height = stacks.length * lane + (stacks.length - 1) * HEIGHTS.bus;
    return { boxes, lines, frames, words, width: Math.ceil(width), height: Math.ceil(height) };
  }

  /** Draws a stack; returns where its stream ends. @param {Stack} stack @param {number} top */
  stack({ name, blocks }, top) {
    const middle = top + this.above + this.box / 2;
    this.words.push({ text: name === "encoder" ? "Encoder" : "Decoder", x: 0, y: top });
    let x = 1; // for the outline of the first box
    let stream = 0; // columns of what flows from the part before
    for (const block of blocks) {
      const isClosed = block.number !== null && this.open !== null && block.id !== this.open;
      if (x > 1) x = this.flow(x, Math.min(BETWEEN, this.gap), middle, stream);
      if (isClosed) x = this.closed(block, x, top);
      else x = this.opened(block, x, top, middle);
      stream = block.parts[block.parts.length - 1].widths[1];
    }
    this.width = Math.max(this.width, x + 1);
    return { x, middle, stream };
  }

  /**
   * A line of the stream from x on; returns where it ends.
   * @param {number} x @param {number} length @param {number} middle @param {number} columns
   */
  flow(x, length, middle, columns) {
    const width = Math.max(STRIPE.thin, columns * this.scale);
    this.lines.push({ d: `M${x} ${middle}h${length}`, ink: "stream", width, arrow: false, order: this.order });
    return x + length;
  }

  /** A block that is closed. @param {ModelBlock} block @param {number} x @param {number} top */
  closed({ parts, number }, x, top) {
    const [first] = parts;
    const width = Math.max(CLOSED, this.widthOf(String(number)) + 2 * PAD);
    const y = top + this.above;
    this.boxes.push({
      ...{ id: `block ${first.id}`, kind: "block", x, y, width, height: this.box },
      ...{ label: first.place, title: `Open ${first.place}`, lines: [String(number)] },
      ...{ layer: first.layer, step: "", inside: parts.map(({ kind }) => kind) },
    });
    for (const [n, part] of parts.entries()) {
      if (isCrossing(part)) this.crossings.push({ x: x + width / 2, order: this.order + n });
    }
    this.order += parts.length;
    return x + width;
  }

  /**
   * The parts of a block.
   * @param {ModelBlock} block @param {number} left @param {number} top @param {number} middle
   */
  opened({ parts, number }, left, top, middle) {
    const isBlock = number !== null;
    const splits = splitsIn(parts);
    let x = left;
    let from = x;
    for (const [n, part] of parts.entries()) {
      const columns = part.widths[0];
      if (splits.includes(n)) from = x + this.gap / 3;
      if (n > 0 || isBlock) x = this.flow(x, this.gap, middle, columns);
      if (part.kind === "add") this.bypass(from, x, top, middle, columns);
      const box = this.part(part, x, middle);
      if (part.kind === "attention") this.operands(part, box, middle);
      if (part.kind === "widen") this.words.push({ text: "Feed-forward", x, y: top });
      x += box.width;
      this.order += 1;
    }
    if (!isBlock) return x;
    x += this.gap / 2;
    this.frames.push({ x: left, y: top, width: x - left, height: this.lane, label: `Block ${number}` });
    return x;
  }

  /** @param {Part} part @param {number} x @param {number} middle */
  part(part, x, middle) {
    const { id, kind, layer, opens, place, name, says, lines } = part;
    const text = Math.max(...lines.map((line) => this.widthOf(line)));
    const isAdd = kind === "add";
    const width = isAdd ? ADD * this.unit : Math.ceil(text + 2 * PAD * this.unit);
    const height = isAdd ? width : this.box;
    const label = `${place}, ${name}`;
    const box = { x, y: middle - height / 2, width, height };
    this.boxes.push({ ...box, id, kind, label, title: `${label}: ${says}`, lines, layer, step: opens });
    return box;
  }

  /**
   * The stream that goes past what is added to it, from x on into the sum.
   * @param {number} from @param {number} sum @param {number} top @param {number} middle @param {number} columns
   */
  bypass(from, sum, top, middle, columns) {
    const y = top + HEIGHTS.label * this.unit + 3;
    const to = sum + (ADD * this.unit) / 2;
    const end = middle - (ADD * this.unit) / 2;
    const d =
      `M${from} ${middle}V${y + ROUND}q0 ${-ROUND} ${ROUND} ${-ROUND}` +
      `H${to - ROUND}q${ROUND} 0 ${ROUND} ${ROUND}V${end}`;
    const width = Math.max(STRIPE.thin, Math.min(columns * this.scale, 5));
    this.lines.push({ d, ink: "residual", width, arrow: true, order: this.order });
  }

  /** The three inputs of an attention. @param {Part} part @param {Box} box @param {number} middle */
  operands(part, { x, width }, middle) {
    const order = this.order;
    const isCross = isCrossing(part);
    if (isCross) this.crossings.push({ x: x + width / 2, order });
    /** @type {DiagramLine["ink"][]} */
    const inks = isCross ? ["query"] : ["query", "key", "value"];
    for (const [n, ink] of inks.entries()) {
      const y = middle + (n - (inks.length - 1) / 2) * 9;
      this.lines.push({ d: `M${x - 7} ${y}h7`, ink, width: 2.5, arrow: true, order });
    }
  }

  /** The encoder's output on its way to each attention that takes keys and values of it. */
  bus() {
    const [encoder] = this.ends;
    const [, decoder] = this.stacks;
    if (!this.crossings.length || !decoder) return;
    const y = this.lane + HEIGHTS.bus / 2;
    const top = this.lane + HEIGHTS.bus + this.above;
    const far = encoder.x + BETWEEN;
    this.width = Math.max(this.width, far + 6);
    const first = Math.min(...this.crossings.map(({ order }) => order));
    const xs = this.crossings.map(({ x }) => x);
    const [left, right] = [Math.min(...xs, far), Math.max(...xs, far)];
    const { middle, stream } = encoder;
    const width = Math.max(STRIPE.thin, Math.min(stream * this.scale, 5));
    /** @param {string} d @param {DiagramLine["ink"]} ink @param {number} order */
    const line = (d, ink, order, arrow = false, wide = 2.5) => this.lines.push({ d, ink, width: wide, arrow, order });
    line(`M${encoder.x} ${middle}H${far}V${y - 2}`, "stream", first, false, width);
    line(`M${left - 4} ${y - 2}H${right - 1}`, "key", first);
    line(`M${left + 1} ${y + 2}H${right + 4}`, "value", first);
    for (const { x, order } of this.crossings) {
      line(`M${x - 4} ${y - 2}V${top}`, "key", order, true);
      line(`M${x + 4} ${y + 2}V${top}`, "value", order, true);
    }
  }
}

/** @param {Stack} stack */
const widthsIn = ({ blocks }) =>
  blocks.flatMap(({ parts }) =>
    parts.flatMap(({ kind, widths }) => (kind === "logits" || kind === "softmax" ? [widths[0]] : widths)),
  );

/** Whether an attention takes keys and values of the encoder. @param {Part} part */
const isCrossing = ({ kind, name }) => kind === "attention" && name === "attention to the encoder";

/**
 * Before which of the parts of a block the stream splits: before each attention and feed-forward that ends in a sum, or
 * before its norm where that comes first.
 * @param {Part[]} parts
 */
function splitsIn(parts) {
  return parts.flatMap(({ kind }, n) => {
    if (kind !== "attention" && kind !== "widen") return [];
    return parts[n - 1]?.name.startsWith("norm before") ? [n - 1] : [n];
  });
}
