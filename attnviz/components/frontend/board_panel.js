// What of a matrix is worked out once from its numbers, and said of it to those who do not see it.

/** What a panel's drawing needs and can be worked out from its numbers. */
export function complete(panel) {
  if (panel.z) return;
  const [rows, cols] = panel.shape;
  panel.z = Array.from({ length: rows }, (_, i) => panel.data.subarray(i * cols, (i + 1) * cols));
  let [low, high, gaps] = [Infinity, -Infinity, false];
  const { data } = panel;
  for (let n = 0; n < data.length; n += 1) {
    const x = data[n];
    if (x < low) low = x;
    if (x > high) high = x;
    if (x !== x) gaps = true; // NaN
  }
  panel.gaps = gaps;
  if (high >= low) [panel.low_seen, panel.high_seen] = [low, high];
  panel.largest = high >= low ? Math.max(Math.abs(low), Math.abs(high)) : 0;
}

export const describe = ({ title, shape: [rows, cols] }) => `${title}, ${rows} rows by ${cols} columns`;
