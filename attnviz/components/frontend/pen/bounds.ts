// The bounding box of recorded marks.

import { applied } from "./geometry.ts";

/** The box around all marks, {x, y, width, height}, each cut to its clip; null where there is none. */
export function bounds(marks: Mark[]): Box | null {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const mark of marks) {
    const box = clipped(boxOf(mark), mark.clip);
    if (!box) continue;
    [left, top] = [Math.min(left, box[0]), Math.min(top, box[1])];
    [right, bottom] = [Math.max(right, box[2]), Math.max(bottom, box[3])];
  }
  return right >= left ? { x: left, y: top, width: right - left, height: bottom - top } : null;
}

/** [left, top, right, bottom] of a mark. */
function boxOf(mark: Mark) {
  if (mark.kind === "image") return [mark.x, mark.y, mark.x + mark.width, mark.y + mark.height];
  if (mark.kind === "shape") return pathBox(mark.path, mark.stroke ? mark.lineWidth / 2 : 0);
  const start = { start: 0, middle: -mark.width / 2, end: -mark.width }[mark.anchor];
  const [above, below] = [-mark.size * 0.8, mark.size * 0.25];
  const end = start + mark.width;
  return pathBox([["M", ...applied(mark.matrix, [start, above, end, above, start, below, end, below])]], 0);
}

function pathBox(path: PathStep[], around: number) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [name, ...numbers] of path) {
    const points = name === "R" ? [numbers[0], numbers[1], numbers[0] + numbers[2], numbers[1] + numbers[3]] : numbers;
    for (let n = 0; n < points.length; n += 2) {
      [left, top] = [Math.min(left, points[n]), Math.min(top, points[n + 1])];
      [right, bottom] = [Math.max(right, points[n]), Math.max(bottom, points[n + 1])];
    }
  }
  return [left - around, top - around, right + around, bottom + around];
}

function clipped(box: number[], clip: Clip | null) {
  let cut = box;
  for (let at = clip; at; at = at.parent) {
    const own = pathBox(at.path, 0);
    cut = [Math.max(cut[0], own[0]), Math.max(cut[1], own[1]), Math.min(cut[2], own[2]), Math.min(cut[3], own[3])];
  }
  return cut[2] >= cut[0] && cut[3] >= cut[1] ? cut : null;
}
