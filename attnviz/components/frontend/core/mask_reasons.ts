// Why a mask hides a cell: the same rule as in attnviz/mask_reasons.py.

import { MASK_REASONS } from "./constants.ts";

export type Reason = keyof typeof MASK_REASONS;
const REASONS = Object.keys(MASK_REASONS) as Reason[];
/** cells that are hidden for a reason */
export type ReasonBox = CellBox & { reason: Reason };

const CAUSAL: MaskReasons = { causal: true, window: null, padding: [] };

/** The parts of a document's mask; null if it hides nothing, or other cells. */
export const reasonsOf = ({ mask, mask_reasons: reasons }: { mask: string; mask_reasons?: MaskReasons }) =>
  mask === "causal" ? CAUSAL : (reasons ?? null);

/** Why the mask hides key k from query q; null if it does not. */
export function reasonOf({ causal, window, padding }: MaskReasons, q: number, k: number): Reason | null {
  if (padding.includes(k)) return "padding";
  if (causal && k > q) return "future";
  if (window && (q - k > window[0] || k - q > window[1])) return "window";
  return null;
}

/** The cells that are outside of the window, row by row, and then those of padding, which lie over them. */
export function reasonBoxes({ causal, window, padding }: MaskReasons, [rows, columns]: [number, number]): ReasonBox[] {
  const boxes: ReasonBox[] = [];
  const add = (reason: Reason, row: number, column: number, size: Omit<CellBox, "row" | "column">) => {
    if (size.columns > 0) boxes.push({ reason, row, column, ...size });
  };
  for (let q = 0; window && q < rows; q += 1) {
    const [from, to] = [Math.max(0, q - window[0]), q + window[1] + 1];
    add("window", q, 0, { rows: 1, columns: Math.min(from, columns) });
    if (!causal) add("window", q, to, { rows: 1, columns: columns - to });
  }
  const firsts = padding.filter((k, n) => padding[n - 1] !== k - 1);
  for (const [n, first] of firsts.entries()) {
    const next = n + 1 < firsts.length ? padding.indexOf(firsts[n + 1]) : padding.length;
    add("padding", 0, first, { rows, columns: next - padding.indexOf(first) });
  }
  return boxes;
}

/** What hatchings mean, such as "/ future, × padding", where cells are hidden for several reasons; else "". */
export function legend(reasons: MaskReasons | null | undefined, shape: [number, number]) {
  if (!reasons) return "";
  const boxed = reasonBoxes(reasons, shape).map(({ reason }) => reason);
  const last = Array.from({ length: shape[1] }, (_, k) => k).findLast((k) => !reasons.padding.includes(k)) ?? 0;
  const occurring = REASONS.filter((name) => (name === "future" ? reasons.causal && last > 0 : boxed.includes(name)));
  if (occurring.length < 2) return "";
  return occurring.map((name) => `${MASK_REASONS[name].sign} ${MASK_REASONS[name].words}`).join(", ");
}
