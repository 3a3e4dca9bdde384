// Transforms points and boxes by a matrix [a, b, c, d, e, f], in the canvas's order.

export const IDENTITY: Matrix = [1, 0, 0, 1, 0, 0];

export function times([a, b, c, d, e, f]: Matrix, [g, h, i, j, k, l]: Matrix): Matrix {
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}

/** Points x0, y0, x1, y1, ... moved by a matrix. */
export function applied([a, b, c, d, e, f]: Matrix, points: number[]) {
  const moved: number[] = [];
  for (let n = 0; n < points.length; n += 2) {
    const [x, y] = [points[n], points[n + 1]];
    moved.push(a * x + c * y + e, b * x + d * y + f);
  }
  return moved;
}

/** A rectangle under a matrix: one still, or where it is turned four lines. */
export function boxPath(matrix: Matrix, [x, y, width, height]: number[]): PathStep[] {
  const corners = applied(matrix, [x, y, x + width, y, x + width, y + height, x, y + height]);
  const [x0, y0, , y1, x2, y2] = corners;
  if (y0 === y1) return [["R", Math.min(x0, x2), Math.min(y0, y2), Math.abs(x2 - x0), Math.abs(y2 - y0)]];
  return [
    ["M", ...corners.slice(0, 2)],
    ["L", ...corners.slice(2, 4)],
    ["L", ...corners.slice(4, 6)],
    ["L", ...corners.slice(6)],
    ["Z"],
  ];
}
