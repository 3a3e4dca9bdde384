// Why a mask hides a cell: the same rule as in attnviz/mask_reasons.py.

import { MASK_REASONS } from "./constants.ts";

export type Reason = keyof typeof MASK_REASONS;
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
  for (let row = 0; window && row < rows; row += 1) {
    const column = row + window[1] + 1;
    boxes.push({ reason: "window", row, column: 0, rows: 1, columns: row - window[0] });
    if (!causal) boxes.push({ reason: "window", row, column, rows: 1, columns: columns - column });
  }
  for (const column of padding) boxes.push({ reason: "padding", row: 0, column, rows, columns: 1 });
  return boxes.filter((box) => box.columns > 0);
}

/** Whether a pixel is on a line of a reason's hatching: `pitch` px are from one line to the next, and one is `wide`. */
export function isOnLine(reason: string, x: number, y: number, [pitch, wide]: number[]) {
  const isOn = (at: number) => at % pitch < wide;
  return (reason !== "window" && isOn(x + y)) || (reason !== "future" && isOn(x - y + 999 * pitch));
}

/** What hatchings mean, such as "/ future, × padding", where cells are hidden for several reasons; else "". */
export function legend(reasons: MaskReasons | null | undefined) {
  const occurs = { future: reasons?.causal, window: reasons?.window, padding: reasons?.padding.length };
  const names = (Object.keys(MASK_REASONS) as Reason[]).filter((name) => occurs[name]);
  return names.length > 1
    ? names.map((name) => `${MASK_REASONS[name].sign} ${MASK_REASONS[name].words}`).join(", ")
    : "";
}
