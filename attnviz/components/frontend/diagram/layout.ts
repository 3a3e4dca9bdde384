// Where the parts of a model are drawn, from left to right: a pure function. Stacks lie one below the other;
// blocks that are not chosen are closed where there is no room for all, and folded where there is still none.

/** Lengths in px for type of the size 1 */
const GAPS = [15, 12, 10]; // between parts: the widest that fits
const PAD = 6; // in a box, beside its text
const NAMED = 8; // in a block's frame, beside its name
const ADD = 26; // the circle of a sum
const CLOSED = 26; // a block, at least
const BETWEEN = 13; // blocks
const HEIGHTS = { box: 42, label: 17, bypass: 11, below: 8, bus: 18 };
const LOW = { box: 36, label: 16, bypass: 9, below: 5, bus: 18 }; // of two stacks
const LOWEST = { above: 6, label: 10 }; // of a stack without an open block: over its boxes, and between name and boxes
const STRIPE = { thick: 22, thin: 2 }; // the line of the widest matrix, and the thinnest line
const ROUND = 5;
const FEWEST = 3; // closed blocks that are folded into one box
const SMALL = 11; // px, the type of a diagram that does not fit otherwise

/**
 * `chosen` is the id of a part, `width` the room, `type` the size of letters and `least` the smallest one that may
 * replace it, `widthOf` measures a text of the size `type`
 */
export type LayoutSettings = { chosen: string; width: number; type: number; least?: number; widthOf: WidthOf };
/** where a stack lies: `above` is what stands over its boxes */
export type Lane = { top: number; above: number; height: number; isLow: boolean };
/**
 * `open` is the id of the one block that is open, null where all are; `gap` lies between parts; whether closed blocks
 * beside the one that is open are folded
 */
export type Density = { open: string | null; gap: number; type: number; folds?: boolean };

export function layoutOf(stacks: Stack[], given: LayoutSettings): DiagramLayout {
  const { type, least = SMALL } = given;
  const open = blockOf(stacks, given.chosen);
  const small = Math.min(type, Math.max(SMALL, least));
  const densities: Density[] = [
    { open: null, gap: GAPS[0], type },
    ...GAPS.map((gap) => ({ open, gap, type })),
    ...GAPS.map((gap) => ({ open, gap, type, folds: true })),
    { open, gap: GAPS[GAPS.length - 1], type: small, folds: true },
  ];
  for (const density of densities) {
    const made = new Layout(stacks, given, density);
    if (made.width <= given.width) return made.done();
  }
  return new Layout(stacks, given, { open, gap: GAPS[0], type, folds: true }).done(); // it is scrolled
}

/**
 * The id of the block that a part stands in; of one before or after all blocks, that of the block next to it.
 */
function blockOf(stacks: Stack[], chosen: string) {
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
  stacks: Stack[];
  open;
  folds: boolean;
  gap: number;
  type: number;
  widthOf;
  unit: number;
  heights;
  box: number;
  scale: number;
  boxes: DiagramBox[] = [];
  lines: DiagramLine[] = [];
  frames: DiagramFrame[] = [];
  words: DiagramLayout["words"] = [];
  /** where attention to the encoder takes its keys and values */
  crossings: { x: number; order: number }[] = [];
  order = 0;
  width = 0;
  lanes: Lane[];
  ends;

  constructor(stacks: Stack[], given: LayoutSettings, { open, gap, type, folds = false }: Density) {
    this.stacks = stacks;
    this.open = open;
    this.folds = folds;
    this.gap = gap;
    this.type = type;
    this.widthOf = (text: string) => (given.widthOf(text) * type) / given.type;
    this.unit = type / 12.5;
    this.heights = stacks.length > 1 ? LOW : HEIGHTS;
    this.box = this.heights.box * this.unit;
    const widest = Math.max(...stacks.flatMap(widthsIn));
    this.scale = STRIPE.thick / widest;
    this.lanes = this.lanesOf(stacks);
    this.ends = stacks.map((stack, n) => this.stack(stack, this.lanes[n]));
  }

  done(): DiagramLayout {
    this.bus();
    const { boxes, lines, frames, words, width, type } = this;
    const { top, height: last } = this.lanes[this.lanes.length - 1];
    const height = top + last;
    return { boxes, lines, frames, words, type, width: Math.ceil(width), height: Math.ceil(height) };
  }

  /**
   * Where each stack lies, and how much stands over its boxes: in one without an open block nothing does, and its name
   * stands beside them.
   */
  lanesOf(stacks: Stack[]): Lane[] {
    const { label, bypass, below, bus } = this.heights;
    let top = 0;
    return stacks.map(({ blocks }) => {
      const isLow = stacks.length > 1 && blocks.every((block) => block.number === null || this.isClosed(block));
      const above = isLow ? LOWEST.above : label * this.unit + bypass;
      const height = above + this.box + (isLow ? 0 : below);
      const lane = { top, above, height, isLow };
      top += height + bus;
      return lane;
    });
  }

  /** Draws a stack; returns where its stream ends. */
  stack({ name, blocks }: Stack, lane: Lane) {
    const { top, isLow } = lane;
    const middle = top + lane.above + this.box / 2;
    const text = name === "encoder" ? "Encoder" : "Decoder";
    this.words.push({ text, x: 0, y: isLow ? middle - 0.6 * this.type : top });
    let x = 1 + (isLow ? Math.ceil(this.widthOf(text)) + LOWEST.label : 0); // 1 for the outline of the first box
    /** columns of what flows from the part before */
    let stream: number | null = null;
    for (const several of this.folded(blocks)) {
      const [block] = several;
      if (stream !== null) x = this.flow(x, Math.min(BETWEEN, this.gap), middle, stream);
      if (this.isClosed(block)) x = this.closed(several, x, middle);
      else x = this.opened(block, x, middle, lane);
      const { parts } = several[several.length - 1];
      stream = parts[parts.length - 1].widths[1];
    }
    this.width = Math.max(this.width, x + 1);
    return { x, middle, stream: stream ?? 0 };
  }

  isClosed({ id, number }: ModelBlock) {
    return number !== null && this.open !== null && id !== this.open;
  }

  /** The blocks of a stack, those that one box stands for together. */
  folded(blocks: ModelBlock[]) {
    const folds = this.folds && blocks.some(({ id }) => id === this.open);
    const runs: ModelBlock[][] = [];
    for (const block of blocks) {
      const run = runs[runs.length - 1];
      if (folds && run && this.isClosed(block) && this.isClosed(run[0])) run.push(block);
      else runs.push([block]);
    }
    return runs.flatMap((run) => (run.length < FEWEST ? run.map((block) => [block]) : [run]));
  }

  /** A line of the stream from x on; returns where it ends. */
  flow(x: number, length: number, middle: number, columns: number) {
    const width = Math.max(STRIPE.thin, columns * this.scale);
    this.lines.push({ d: `M${x} ${middle}h${length}`, ink: "stream", width, arrow: false, order: this.order });
    return x + length;
  }

  /** A block that is closed, or several, whose box opens the one in the middle. */
  closed(several: ModelBlock[], x: number, middle: number) {
    const { parts } = several[(several.length - 1) >> 1];
    const [first] = parts;
    const [from, to] = [several[0], several[several.length - 1]];
    const isOne = from === to;
    const text = isOne ? String(from.number) : `${from.number} – ${to.number}`;
    const width = Math.max(CLOSED, this.widthOf(text) + 2 * PAD);
    const y = middle - this.box / 2;
    const label = isOne ? first.place : `${from.parts[0].place} to ${to.number}`;
    this.boxes.push({
      ...{ id: `block ${text} ${first.id}`, kind: "block", x, y, width, height: this.box },
      ...{ label, title: `Open ${first.place}`, lines: [text] },
      ...{ layer: first.layer, step: "", first: first.id, inside: parts.map(({ kind }) => kind) },
    });
    const inside = several.flatMap((block) => block.parts);
    const crossing = inside.findIndex(isCrossing);
    if (crossing >= 0) this.crossings.push({ x: x + width / 2, order: this.order + crossing });
    this.order += inside.length;
    return x + width;
  }

  /** The parts of a block. */
  opened({ parts, number, reach }: ModelBlock, left: number, middle: number, { top, height }: Lane) {
    const isBlock = number !== null;
    const splits = splitsIn(parts);
    let x = left;
    let from = x;
    let room = Infinity; // for the block's name, up to the next word
    for (const [n, part] of parts.entries()) {
      const columns = part.widths[0];
      if (splits.includes(n)) from = x + this.gap / 3;
      if (n > 0 || isBlock) x = this.flow(x, this.gap, middle, columns);
      if (part.kind === "add") this.bypass(from, x, top, middle, columns);
      const box = this.part(part, x, middle);
      if (part.kind === "attention") this.operands(part, box, middle);
      if (part.kind === "widen") {
        this.words.push({ text: "Feed-forward", x, y: top });
        room = x - left;
      }
      x += box.width;
      this.order += 1;
    }
    if (!isBlock) return x;
    const label = `Block ${number}${reach}`;
    const short = left + this.widthOf(label) + 2 * NAMED - x - this.gap / 2; // of room for the block's name
    if (short > 0) x = this.flow(x, Math.ceil(short), middle, parts[parts.length - 1].widths[1]);
    x += this.gap / 2;
    this.frames.push({
      x: left,
      y: top,
      width: x - left,
      height,
      label,
      room: Math.min(room, x - left),
    });
    return x;
  }

  part(part: Part, x: number, middle: number) {
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

  /** The stream that goes past what is added to it, from x on into the sum. */
  bypass(from: number, sum: number, top: number, middle: number, columns: number) {
    const y = top + this.heights.label * this.unit + 3;
    const to = sum + (ADD * this.unit) / 2;
    const end = middle - (ADD * this.unit) / 2;
    const d =
      `M${from} ${middle}V${y + ROUND}q0 ${-ROUND} ${ROUND} ${-ROUND}` +
      `H${to - ROUND}q${ROUND} 0 ${ROUND} ${ROUND}V${end}`;
    const width = Math.max(STRIPE.thin, Math.min(columns * this.scale, 5));
    this.lines.push({ d, ink: "residual", width, arrow: true, order: this.order });
  }

  /** The three inputs of an attention. */
  operands(part: Part, { x, width }: Box, middle: number) {
    const order = this.order;
    const isCross = isCrossing(part);
    if (isCross) this.crossings.push({ x: x + width / 2, order });
    const inks: DiagramLine["ink"][] = isCross ? ["query"] : ["query", "key", "value"];
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
    const [{ height }, { top: second, above }] = this.lanes;
    const y = height + this.heights.bus / 2;
    const top = second + above;
    const far = encoder.x + BETWEEN;
    this.width = Math.max(this.width, far + 6);
    const first = Math.min(...this.crossings.map(({ order }) => order));
    const xs = this.crossings.map(({ x }) => x);
    const [left, right] = [Math.min(...xs, far), Math.max(...xs, far)];
    const { middle, stream } = encoder;
    const width = Math.max(STRIPE.thin, Math.min(stream * this.scale, 5));
    const line = (d: string, ink: DiagramLine["ink"], order: number, arrow = false, wide = 2.5) =>
      this.lines.push({ d, ink, width: wide, arrow, order });
    line(`M${encoder.x} ${middle}H${far}V${y - 2}`, "stream", first, false, width);
    line(`M${left - 4} ${y - 2}H${right - 1}`, "key", first);
    line(`M${left + 1} ${y + 2}H${right + 4}`, "value", first);
    for (const { x, order } of this.crossings) {
      line(`M${x - 4} ${y - 2}V${top}`, "key", order, true);
      line(`M${x + 4} ${y + 2}V${top}`, "value", order, true);
    }
  }
}

const widthsIn = ({ blocks }: Stack) =>
  blocks.flatMap(({ parts }) =>
    parts.flatMap(({ kind, widths }) => (kind === "logits" || kind === "softmax" ? [widths[0]] : widths)),
  );

/** Whether an attention takes keys and values of the encoder. */
const isCrossing = ({ kind, name }: Part) => kind === "attention" && name === "attention to the encoder";

/**
 * Before which of the parts of a block the stream splits: before each attention and feed-forward that ends in a sum, or
 * before its norm where that comes first.
 */
function splitsIn(parts: Part[]) {
  return parts.flatMap(({ kind }, n) => {
    if (kind !== "attention" && kind !== "widen") return [];
    return parts[n - 1]?.name.startsWith("norm before") ? [n - 1] : [n];
  });
}
