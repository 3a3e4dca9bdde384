// Concat: the outputs of all heads, each put beside the one before.

import { eased, panelOf, within } from "./words.ts";

const HEAD = 1300; // ms, of few heads
const ALL = 9000;

/** The left matrix shows the output of each head in turn, not that of the head that is followed. */
export function headsBeats({ picture }: Played): Beat[] {
  const [head, concat] = ["head_outputs", "concat"].map((one) => panelOf(one, picture));
  const width = concat?.parts?.width;
  if (!head || !concat || !width || !concat.data.length) return [];
  const [rows, columns] = concat.shape;
  const heads = columns / width;
  const part = (n: number): CellBox => ({ row: 0, column: n * width, rows, columns: width });
  return Array.from({ length: heads }, (_, n) => {
    const stands = { head_outputs: { title: `head ${n}`, data: partOf(concat, part(n)) } };
    return {
      ms: Math.min(HEAD, ALL / heads),
      frame: (share: number) => {
        const isThere = share >= 0.85;
        const there = isThere ? n + 1 : n;
        const open: CellBox = { row: 0, column: there * width, rows, columns: columns - there * width };
        return {
          stands,
          blank: { concat: open.columns ? [open] : [] },
          lit: isThere ? [{ panel: "concat", box: part(n), ink: "attention", strong: true }] : [],
          flights: isThere
            ? []
            : [
                {
                  from: { panel: "head_outputs", box: { row: 0, column: 0, rows, columns: width } },
                  to: { panel: "concat", box: part(n) },
                  along: eased(within(share, [0.3, 0.85])),
                  coloured: "concat",
                },
              ],
          says: [[`head ${n}: `, "attention"], [`columns ${n * width} to ${(n + 1) * width - 1}`]],
        };
      },
    };
  });
}

/** @param box of some columns */
function partOf({ data, shape: [rows, columns] }: Panel, { column, columns: width }: CellBox) {
  const part = new Float32Array(rows * width);
  for (let i = 0; i < rows; i += 1) {
    part.set(data.subarray(i * columns + column, i * columns + column + width), i * width);
  }
  return part;
}
