// Chooses which weights are drawn as lines, and their opacity. Uses no canvas, so that a test compares it with numpy.

export const CAP = 20000; // lines: more can neither be drawn well nor distinguished
export const LEVELS = 24; // lines of one level look the same and are drawn together
const SAMPLE = 17; // every 17th cell is looked at, to guess how large the largest are
const POWER = 0.75;
const FAINTEST = 1 / 128; // a line that is drawn leaves a trace on a screen of 256 steps

/** How dark a value is drawn, 0 to 1: a little above proportional, so that 0.05 is still seen. NaN gives 0. */
export function opacity(value: number, { low, high }: Scale) {
  const share = (value - low) / (high - low || 1);
  return share > 0 ? Math.min(share, 1) ** POWER : 0;
}

/** How dark the lines of a level are: the levels lie closer where lines are faint. */
export const darkness = (level: number) => Math.max(FAINTEST, (level / LEVELS) ** 2);

/** Up to which share of the scale each level goes, so that no power is needed for every line. */
const UP_TO = Float64Array.from({ length: LEVELS }, (_, i) => ((i + 1) / LEVELS) ** (2 / POWER));

/** The level of a value above `low`: the lowest one at least as dark as the value's opacity. */
function levelOf(value: number, { low, high }: Scale) {
  const share = (value - low) / (high - low || 1);
  let level = 1;
  while (level < LEVELS && UP_TO[level - 1] < share) level += 1;
  return level;
}

/**
 * The weights of some heads that are drawn: those above `low` and not under `threshold`, and of these, for each query,
 * the `strongest` largest (0 means all; of equal ones the first). NaN, a hidden cell, is never one of them.
 */
export class Choice {
  heads: LineHead[];
  rules: LineRules;
  cap: number;
  marks;
  total: number;
  kept: number;

  constructor(heads: LineHead[], rules: LineRules, cap: number = CAP) {
    this.heads = heads;
    this.rules = rules;
    this.cap = cap;
    // The least value that may be drawn: one comparison for two conditions, and NaN fails it.
    const bound = Math.max(rules.threshold, rules.low + (Math.abs(rules.low) * Number.EPSILON || Number.MIN_VALUE));
    const markAll = (listed: number) => heads.map((head) => mark(head, rules.strongest, bound, listed));
    this.marks = markAll(guessLeast(heads, rules.strongest, bound, cap));
    const sum = (name: "exist" | "count") => this.marks.reduce((total, marked) => total + marked[name], 0);
    this.total = sum("exist");
    this.kept = sum("count");
    const listed = this.marks.reduce((total, { cells }) => total + cells.length, 0);
    // A guess that was too high left out some of those that are wanted.
    if (listed < Math.min(this.kept, cap)) this.marks = markAll(-Infinity);
  }

  keeps(head: number, q: number, k: number) {
    const value = this.value(head, q, k);
    const { cuts, lasts } = this.marks[head];
    return value > cuts[q] || (value === cuts[q] && k <= lasts[q]);
  }

  /** Whether the line between two tokens is drawn of any head. */
  connects(q: number, k: number) {
    return this.heads.some((_, head) => this.keeps(head, q, k));
  }

  value(head: number, q: number, k: number) {
    return this.heads[head].at[q * this.heads[head].cols + k];
  }

  /** The lines of the whole picture: all that are kept, or the `cap` largest of them (of equal ones the first). */
  lines() {
    const lines = new Bundle(Math.min(this.kept, this.cap), this.heads.length, this.rules);
    const limit = this.kept > this.cap ? this.limit() : { cut: -Infinity, ties: 0 };
    this.heads.forEach(({ cols, at }, head) => {
      const { cells } = this.marks[head];
      for (let n = 0; n < cells.length; n += 1) {
        const cell = cells[n];
        const value = at[cell];
        if (value < limit.cut || (value === limit.cut && limit.ties-- <= 0)) continue;
        lines.add(head, Math.floor(cell / cols), cell % cols, value);
      }
    });
    return lines;
  }

  /** The smallest of the `cap` largest kept values, and how many equal to it are among them. */
  limit() {
    const found = this.marks.reduce((total, { cells }) => total + cells.length, 0);
    const values = new Float32Array(found);
    let count = 0;
    this.heads.forEach(({ at }, head) => {
      const { cells } = this.marks[head];
      for (let n = 0; n < cells.length; n += 1) values[count++] = at[cells[n]];
    });
    const cut = select(values, count, this.cap - 1);
    let above = 0;
    for (let n = 0; n < count; n += 1) if (values[n] > cut) above += 1;
    return { cut, ties: this.cap - above };
  }

  /** The lines that touch one of these tokens, each once. */
  touching(queries: number[], keys: number[]) {
    const most = this.heads.reduce((sum, { rows, cols }) => sum + queries.length * cols + keys.length * rows, 0);
    const lines = new Bundle(most, this.heads.length, this.rules);
    const add = (h: number, q: number, k: number) => this.keeps(h, q, k) && lines.add(h, q, k, this.value(h, q, k));
    this.heads.forEach(({ rows, cols }, h) => {
      for (const q of queries) for (let k = 0; k < cols; k += 1) add(h, q, k);
      for (const k of keys) for (let q = 0; q < rows; q += 1) if (!queries.includes(q)) add(h, q, k);
    });
    return lines;
  }

  /** The head with the largest value between two tokens: {head, value}, or null where all are hidden. */
  largest(q: number, k: number) {
    let best: { head: number; value: number } | null = null;
    for (let head = 0; head < this.heads.length; head += 1) {
      const value = this.value(head, q, k);
      if (value > (best?.value ?? -Infinity)) best = { head, value };
    }
    return best;
  }

  /**
   * The `count` largest values of one token ({q} or {k}), with the partner's number: [{head, partner, value}, ...].
   */
  partners({ q = null, k = null }: PartialPair, count: number) {
    const found: { head: number; partner: number; value: number }[] = [];
    this.heads.forEach(({ rows, cols }, head) => {
      for (let partner = 0; partner < (q === null ? rows : cols); partner += 1) {
        const value = q === null ? this.value(head, partner, k ?? 0) : this.value(head, q, partner);
        if (Number.isNaN(value) || (found.length === count && value <= found[count - 1].value)) continue;
        const at = found.findIndex((other) => other.value < value);
        found.splice(at < 0 ? found.length : at, 0, { head, partner, value });
        found.length = Math.min(found.length, count);
      }
    });
    return found;
  }
}

/** Lines in typed arrays. `order` lists them from the darkest level to the palest, those of one head together. */
export class Bundle {
  length = 0;
  heads: number;
  scale: Scale;
  head: Uint16Array<ArrayBuffer>;
  query: Uint32Array<ArrayBuffer>;
  key: Uint32Array<ArrayBuffer>;
  level: Uint8Array<ArrayBuffer>;
  sorted: Uint32Array | null = null;

  constructor(most: number, heads: number, scale: Scale) {
    this.heads = heads;
    this.scale = scale;
    this.head = new Uint16Array(most);
    this.query = new Uint32Array(most);
    this.key = new Uint32Array(most);
    this.level = new Uint8Array(most);
  }

  add(head: number, query: number, key: number, value: number) {
    const i = this.length;
    this.head[i] = head;
    this.query[i] = query;
    this.key[i] = key;
    this.level[i] = levelOf(value, this.scale);
    this.length += 1;
  }

  get order() {
    this.sorted ??= this.sort();
    return this.sorted;
  }

  sort() {
    const { head, level, heads, length } = this;
    // Where each bucket begins; a bucket holds one head's lines of one level.
    const next = new Uint32Array(LEVELS * heads + 1);
    const order = new Uint32Array(length);
    for (let i = 0; i < length; i += 1) next[(LEVELS - level[i]) * heads + head[i] + 1] += 1;
    for (let b = 1; b < next.length; b += 1) next[b] += next[b - 1];
    for (let i = 0; i < length; i += 1) order[next[(LEVELS - level[i]) * heads + head[i]]++] = i;
    return order;
  }
}

/**
 * A value that probably not many more than `cap` of the kept ones reach: the picture needs to list no others.
 */
function guessLeast(heads: LineHead[], strongest: number, bound: number, cap: number) {
  const cells = heads.reduce((sum, { rows, cols }) => sum + rows * Math.min(cols, strongest || cols), 0);
  if (cells <= 8 * cap) return -Infinity;
  const sample = new Float32Array(heads.reduce((sum, { at }) => sum + Math.ceil(at.length / SAMPLE), 0));
  let count = 0;
  for (const { at } of heads) {
    for (let cell = 0; cell < at.length; cell += SAMPLE) if (at[cell] >= bound) sample[count++] = at[cell];
  }
  const place = Math.ceil((2 * cap) / SAMPLE);
  return place < count ? select(sample, count, place) : -Infinity;
}

/**
 * Which cells of a head are kept: in row q those above `cuts[q]`, and equal to it up to column `lasts[q]`.
 * `count` are kept and `exist` not hidden; `cells` lists those that are kept and reach `listed`.
 */
function mark({ rows, cols, at }: LineHead, strongest: number, bound: number, listed: number) {
  const heap = strongest > 0 && strongest < cols ? new Float32Array(strongest) : null;
  const [cuts, lasts] = [new Float64Array(rows), new Int32Array(rows)];
  let cells = new Uint32Array(1024);
  let [count, hidden, length] = [0, 0, 0];
  for (let q = 0; q < rows; q += 1) {
    const start = q * cols;
    const [cut, most] = heap ? rowLimit(heap, at, start, start + cols, bound) : [bound, cols];
    let [last, ties] = [-1, most];
    for (let k = 0; k < cols; k += 1) {
      const value = at[start + k];
      if (value > cut || (value === cut && ties-- > 0)) {
        count += 1;
        if (value === cut) last = k;
        if (value < listed) continue;
        if (length === cells.length) cells = longer(cells);
        cells[length++] = start + k;
      } else if (value !== value) hidden += 1; // NaN
    }
    cuts[q] = cut;
    lasts[q] = last;
  }
  return { cuts, lasts, count, exist: rows * cols - hidden, cells: cells.subarray(0, length) };
}

function longer(list: Uint32Array) {
  const copy = new Uint32Array(list.length * 2);
  copy.set(list);
  return copy;
}

/**
 * The n-th largest value of a row, n being the heap's length, and how many equal to it are among the n largest.
 */
function rowLimit(heap: Float32Array, at: Float32Array, from: number, to: number, bound: number) {
  heap.fill(-Infinity); // the smallest of the n largest so far is on top
  let smallest = -Infinity;
  for (let cell = from; cell < to; cell += 1) {
    const value = at[cell];
    if (value > smallest && value >= bound) smallest = replaceSmallest(heap, value);
  }
  if (smallest === -Infinity) return [bound, heap.length]; // fewer than n may be drawn
  let ties = 0;
  for (let i = 0; i < heap.length; i += 1) if (heap[i] === smallest) ties += 1;
  return [smallest, ties];
}

/** Puts a value in the place of the heap's smallest; returns what is the smallest then. */
function replaceSmallest(heap: Float32Array, value: number) {
  let i = 0;
  for (let child = 1; child < heap.length; child = 2 * i + 1) {
    if (child + 1 < heap.length && heap[child + 1] < heap[child]) child += 1;
    if (heap[child] >= value) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = value;
  return heap[0];
}

/**
 * Hoare's selection: the value at `place` were the first `count` sorted from the largest. It reorders them.
 */
function select(values: Float32Array, count: number, place: number) {
  let [from, to] = [0, count - 1];
  while (from < to) {
    const pivot = values[(from + to) >> 1];
    let [i, j] = [from, to];
    while (i <= j) {
      while (values[i] > pivot) i += 1;
      while (values[j] < pivot) j -= 1;
      if (i > j) break;
      const larger = values[j];
      values[j--] = values[i];
      values[i++] = larger;
    }
    if (place <= j) to = j;
    else if (place >= i) from = i;
    else break;
  }
  return values[place];
}
