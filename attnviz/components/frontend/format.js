// Numbers and names as text: a true minus sign, no "-0.0000", no number rounded away to nothing.

const MINUS = "\u2212";
const HUGE = 1e6;

/** 3.2100, −0.2000, 1.2346e−7, −∞. */
export function number(x, digits = 4) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : `${MINUS}∞`;
  if (x === 0) return (0).toFixed(digits);
  const size = Math.abs(x);
  const text = size >= HUGE || Number(size.toFixed(digits)) === 0 ? size.toExponential(digits) : size.toFixed(digits);
  return (x < 0 ? MINUS : "") + text.replace("e+", "e").replace("e-", `e${MINUS}`);
}

/** A number to stand in a sum or product: negative ones in brackets. */
export function operand(x, digits = 2) {
  const text = number(x, digits);
  return text.startsWith(MINUS) ? `(${text})` : text;
}

/** 12 -> ₁₂ */
export function subscript(n) {
  return String(n).replace(/\d/g, (digit) => String.fromCharCode(0x2080 + Number(digit)));
}

const NAMES = { key_t: "keyᵀ", W_output: "W_O", embeddings_k: "embeddings" };

/** A quantity's name as the figures write it. */
export function quantity(name) {
  return NAMES[name] ?? name;
}

/** An index on an axis: `3` for positions, `dim 5` for features. */
export function index(kind, i) {
  const words = { dim: "dim", model: "feature", concat: "column", head: "head" };
  return words[kind] ? `${words[kind]} ${i}` : String(i);
}
