// In which file a head's weights are, as the payload says, and which files are likely to be needed next.
// attnviz/heads/all_heads.py writes them.

import { numberOf, ROLLOUT } from "./choice.ts";
import type { HeadCount } from "./choice.ts";

const ALL = 6.5e6; // bytes of one trace after which only what one key away is fetched ahead: no view takes 8 MB

export type Filed = Pick<ExplorerHeader, "layers" | "heads" | "rows" | "cols" | "files">;

/** A head's file, its place among the heads there, and how many these are. */
export function fileOf({ layers, heads, files }: Pick<Filed, "layers" | "heads" | "files">, [layer, head]: HeadId) {
  if (head === ROLLOUT) return { digest: files.rollout[layers.indexOf(layer)] ?? "", place: 0, count: 1 };
  const n = numberOf({ layers, heads }, [layer, head]);
  const [digest, first, count] = files.weights.find(([, start, many]) => start <= n && n < start + many) ?? ["", n, 1];
  return { digest, place: n - first, count };
}

/**
 * The heads that an arrow key goes to: the same one of the layers beside this, and those beside it in its layer.
 */
export function beside([layer, head]: HeadId, { layers, heads }: HeadCount) {
  const at = layers.indexOf(layer);
  const steps: HeadId[] = [
    [layers[at + 1], head],
    [layer, head + 1],
    [layers[at - 1], head],
    [layer, head - 1],
  ];
  return steps.filter(([l, h]) => head >= 0 && l !== undefined && h >= 0 && h < heads);
}

/** The heads likely to be shown next: those one key away, the rest of the layer, then the adjacent layers. */
function nearby([layer, head]: HeadId, { layers, heads }: HeadCount) {
  const at = layers.indexOf(layer);
  const near = [layer, layers[at + 1], layers[at - 1]].filter((l) => l !== undefined);
  const every = near.flatMap((l) => Array.from({ length: heads }, (_, h) => [l, h] as HeadId));
  return [...beside([layer, head], { layers, heads }), ...every];
}

/** The files to fetch ahead of a head, the most likely first; `received` bytes have come for this trace. */
export function filesAhead(header: Filed, head: HeadId, received: number, isHere: (digest: string) => boolean) {
  const oneKeyAway = beside(head, header).map((one) => fileOf(header, one).digest);
  let left = ALL - received;
  const ahead: Set<string> = new Set();
  for (const one of nearby(head, header)) {
    const { digest, count } = fileOf(header, one);
    const bytes = count * header.rows * header.cols * 2;
    if (isHere(digest) || ahead.has(digest) || (bytes > left && !oneKeyAway.includes(digest))) continue;
    ahead.add(digest);
    left -= bytes;
  }
  return [...ahead];
}
