// Numbers and names as text: a true minus sign, no "-0.0000", no number rounded away to nothing.

const MINUS = "\u2212";
const HUGE = 1e6;

const FIGURES = 2; // after the point, of a number near 0: as many as Python's `scientific` has

/**
 * A number that is known to all its digits: 3.2100, −0.2000, 1.23e−7, −∞. Up to a million and but for 0 as
 * attnviz/formatting.py's `nonzero` writes it.
 */
export function number(x: number, digits = 4) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : `${MINUS}∞`;
  if (x === 0) return (0).toFixed(digits);
  const size = Math.abs(x);
  const plain = fixed(size, digits);
  const isTiny = Number(plain) === 0;
  const text = isTiny || size >= HUGE ? size.toExponential(isTiny ? Math.min(digits, FIGURES) : digits) : plain;
  return (x < 0 ? MINUS : "") + text.replace("e+", "e").replace("e-", `e${MINUS}`);
}

/** A number with a fixed number of decimals, as attnviz/formatting.py writes it: 3.21, −0.20, 0.00. */
export function fixed(x: number, digits = 2) {
  const size = Math.abs(x);
  const up = size.toFixed(digits);
  // A number in the middle between two others: toFixed takes the larger one, Python the one with an even last digit.
  const isTie = (size * 2 ** (digits + 1)) % 2 === 1;
  const text = isTie && Number(up.at(-1)) % 2 ? (size - 0.5 / 10 ** digits).toFixed(digits) : up;
  return x < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/**
 * A weight that is known to this many digits only, or is one of very many: what is not 0 but rounds to it is said to be
 * less than the last digit.
 */
export function weightText(value: number, digits = 4) {
  const shown = fixed(value, digits);
  if (value > 0 && Number(shown) === 0) return `< ${fixed(10 ** -digits, digits)}`;
  return digits < 4 ? `≈ ${shown}` : shown;
}

/** A number to stand in a sum or product: negative ones in brackets. */
export function operand(x: number, digits = 2) {
  const text = number(x, digits);
  return text.startsWith(MINUS) ? `(${text})` : text;
}

/** 12 -> ₁₂ */
export function subscript(n: number) {
  return String(n).replace(/\d/g, (digit) => String.fromCharCode(0x2080 + Number(digit)));
}

const NAMES: Record<string, string> = {
  ...{
    key_t: "keyᵀ",
    W_output: "W_O",
    embeddings: "X", // of a later layer it is no embeddings
    embeddings_k: "X",
    W_1: "W₁",
    W_2: "W₂",
    W_transform: "W_T",
    logits_and_rest: "logits",
  },
  ...{ triangle: "A", masked_zeros: "masked", softmax_weights: "weights" },
  ...{ by_loop: "Y", by_matrix: "Y", by_softmax: "Y", by_data: "Y" },
};

const INDEX_WORDS: Record<string, string> = {
  dim: "dim",
  model: "feature",
  concat: "column",
  head: "head",
  hidden: "neuron",
};

/** A quantity's name as the figures write it. */
export function quantity(name: string) {
  return NAMES[name] ?? name;
}

/** An index on an axis: `3` for positions, `dim 5` for features. */
export function index(kind: string, i: number) {
  return INDEX_WORDS[kind] ? `${INDEX_WORDS[kind]} ${i}` : String(i);
}

/** `query[3, dim 5]` */
export const cellName = ({ name, rows, cols }: { name: string; rows: string; cols: string }, i: number, j: number) =>
  `${quantity(name)}[${index(rows, i)}, ${index(cols, j)}]`;
