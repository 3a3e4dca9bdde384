// Numbers and names as text: a true minus sign, no "-0.0000", no number rounded away to nothing.

import { FORMAT } from "./constants.ts";

const MINUS = "\u2212";

/**
 * A number that is known to all its digits: 3.2100, −0.2000, 1.23e−7, −∞. As attnviz/formatting.py's `exact` writes it.
 */
export function number(x: number, digits: number = FORMAT.digits) {
  const size = Math.abs(x);
  const plain = fixed(x, digits);
  const isTiny = Number.isFinite(x) && x !== 0 && Number(fixed(size, digits)) === 0;
  if (!isTiny && !(size >= FORMAT.huge && size < Infinity)) return plain;
  const text = exponential(size, isTiny ? Math.min(digits, FORMAT.tiny) : digits);
  return (x < 0 ? MINUS : "") + text.replace("e+", "e").replace("e-", `e${MINUS}`);
}

/** A number with a fixed number of decimals, as attnviz/formatting.py's `number` writes it: 3.21, −0.20, 0.00. */
export function fixed(x: number, digits = 2) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : `${MINUS}∞`;
  const size = Math.abs(x);
  const up = size.toFixed(digits);
  // A number in the middle between two others: toFixed takes the larger one, Python the one with an even last digit.
  const isTie = (size * 2 ** (digits + 1)) % 2 === 1;
  const text = isTie && Number(up.at(-1)) % 2 ? (size - 0.5 / 10 ** digits).toFixed(digits) : up;
  return x < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** A number with a power of ten, with `digits` after the point; in the middle between two others, the even one. */
export function exponential(size: number, digits: number) {
  const [all, power] = size.toExponential(100).split("e");
  const last = digits ? digits + 2 : 1;
  const even = all.slice(0, last);
  const isTie = /^\.?50*$/.test(all.slice(last));
  return isTie && Number(even.at(-1)) % 2 === 0 ? `${even}e${power}` : size.toExponential(digits);
}

/**
 * A weight, as attnviz/formatting.py's `weight` writes it: what is not 0 but rounds to it is said to be less than the
 * last digit. One that is known to fewer digits only is said to be about that.
 */
export function weightText(value: number, digits: number = FORMAT.digits) {
  const shown = fixed(value, digits);
  if (value > 0 && Number(shown) === 0) return `< ${fixed(10 ** -digits, digits)}`;
  return digits < FORMAT.digits ? `≈ ${shown}` : shown;
}

/** A share of 1, as attnviz/formatting.py's `percent` writes it: only nothing reads as 0 %, and only all, but
 * for what float32 rounds away, as 100 %. */
export function percent(share: number, digits = 0) {
  const of100 = 100 * share;
  const rounded = Math.min(FORMAT.rounded, 10 ** -digits / 2);
  const units = Math.min(of100, 100 - of100) * 10 ** digits + FORMAT.rounded;
  if (!(of100 > 0 && of100 <= 100 - rounded) || units >= 1) return `${fixed(of100, digits)} %`;
  if (units >= 0.01) return `${fixed(of100, digits + (units < 0.1 ? 3 : 2))} %`;
  const least = 10 ** -(digits + 2);
  const text = fixed(of100 < 50 ? least : 100 - least, digits + 2);
  return `${of100 < 50 ? "less" : "more"} than ${text} %`;
}

/** A number and its unit stay in one line. */
export const together = (text: string) => text.replace(/(\d) %/g, "$1\u00a0%");

export const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** A token in quotes; one that is written from right to left does not reorder what stands around it. */
export const quoted = (token: string) => (RIGHT_TO_LEFT.test(token) ? `“\u2068${token}\u2069”` : `“${token}”`);

/** A count of things: 12,345. */
export const whole = (n: number) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** A number to stand in a sum or product: negative ones in brackets. */
export function operand(x: number, digits = 2) {
  const text = number(x, digits);
  return text.startsWith(MINUS) ? `(${text})` : text;
}

/** A number that is added in a sum: `+ 0.02`, and `− 0.04` of a negative one. */
export const addend = (text: string) => (text.startsWith(MINUS) ? `${MINUS} ${text.slice(1)}` : `+ ${text}`);

/** 12 -> ₁₂ */
export function subscript(n: number) {
  return String(n).replace(/\d/g, (digit) => String.fromCharCode(0x2080 + Number(digit)));
}

const NAMES: Record<string, string> = {
  ...{
    key_t: "keyᵀ",
    query_angles: "θ",
    key_angles: "θ",
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
  pair: "pair",
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

/** A name for each place of an axis: its number and token, or what its kind calls it. */
export function namer(kind: string, labels: Labels, ticks?: Record<string, string>) {
  const own = labels[kind];
  return (n: number) => (own?.[n] !== undefined ? `${n} ${quoted(own[n])}` : (ticks?.[n] ?? index(kind, n)));
}

/** `query[3, dim 5]` */
export const cellName = ({ name, rows, cols }: { name: string; rows: string; cols: string }, i: number, j: number) =>
  `${quantity(name)}[${index(rows, i)}, ${index(cols, j)}]`;
