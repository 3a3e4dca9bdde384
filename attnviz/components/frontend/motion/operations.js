// Steps that are sums, norms, activations or a softmax, perhaps of a product in the same picture: each result is
// computed in its turn.

import { geluByTanh, momentsOf, normalShare } from "../inspector/arithmetic.js";
import { byCell } from "./cells.js";
import { whole } from "./order.js";
import { productBeats } from "./products.js";
import { softmaxBeats } from "./softmax.js";
import { at, factor, panelOf, shown } from "./words.js";

/** @param {Played} played @returns {Beat[]} */
export function operationBeats(played) {
  const { picture } = played;
  const made = Object.entries(picture.products ?? {});
  const results = picture.panels.filter(({ name }) => made.some(([result]) => result === name));
  return results.flatMap((result, n) => {
    const [, own] = /** @type {[string, ProductOf | OperationOf]} */ (made.find(([name]) => name === result.name));
    const later = Object.fromEntries(results.slice(n + 1).map(({ name, shape }) => [name, [whole(shape)]]));
    return beatsOf(result, own, played).map(({ ms, frame }) => ({
      ms,
      frame: (/** @type {number} */ share) => {
        const now = frame(share);
        return { ...now, blank: { ...now.blank, ...later } };
      },
    }));
  });
}

/** @param {Panel} result @param {ProductOf | OperationOf} made @param {Played} played @returns {Beat[]} */
function beatsOf(result, made, played) {
  const { picture, example } = played;
  if ("left" in made) return productBeats({ ...played, picture: { ...picture, products: { [result.name]: made } } });
  if (made.kind === "softmax") return softmaxBeats(played);
  const sources = made.of.flatMap((name) => panelOf(name, picture) ?? []);
  if (sources.length < made.of.length) return [];
  const say = { sum: added, norm: normed, activation: activated }[made.kind](sources, result, made);
  return byCell({ sources, result, say }, picture.labels, { q: example.q, k: null });
}

/** @typedef {(sources: Panel[], result: Panel, made: OperationOf) => (i: number, j: number) => Said[]} Say */

/** @type {Say} */
const added = (sources, result) => (i, j) => [
  [sources.map((source) => factor(at(source, i, j))).join(" + ")],
  [" = "],
  [shown(at(result, i, j)), "attention"],
];

/** @type {Record<string, (x: number) => string>} what each activation does with a number */
const ACTIVATED = {
  relu: (x) => `max(0, ${shown(x)})`,
  gelu: (x) => `${factor(x)} × Φ = ${factor(x)} × ${shown(normalShare(x))}`,
  gelu_tanh: (x) => `½ × ${factor(x)} × (1 + tanh …) = ½ × ${factor(x)} × (1 + ${factor(geluByTanh(x).tanh)})`,
};

/** @type {Say} */
const activated =
  ([source], result, { name }) =>
  (i, j) => {
    const x = at(source, i, j);
    return [[`${ACTIVATED[name ?? "relu"](x)} = `], [shown(at(result, i, j)), "attention"]];
  };

/** @type {Say} */
const normed = ([source], result, { weight, bias, eps, over }) => {
  const [rows, columns] = source.shape;
  const parts = over === "token" ? Array.from({ length: rows }, (_, i) => rowIn(source, i)) : [source.data];
  const moments = parts.map(momentsOf);
  return (i, j) => {
    const { mean, variance } = moments[over === "token" ? i : 0];
    const whose = over === "token" ? "the row" : `all ${rows * columns} numbers`;
    const spread = Math.sqrt(variance + (eps ?? 0));
    const scaled = `(${shown(at(source, i, j))} − ${factor(mean)}) ÷ ${shown(spread)}`;
    const rest = `${weight ? ` × ${factor(weight[j])}` : ""}${bias ? ` + ${factor(bias[j])}` : ""}`;
    return [
      [`mean of ${whose} ${shown(mean)}, standard deviation ${shown(spread)}: ${scaled}${rest} = `],
      [shown(at(result, i, j)), "attention"],
    ];
  };
};

/** @param {Panel} panel @param {number} i */
const rowIn = ({ data, shape: [, columns] }, i) => data.subarray(i * columns, (i + 1) * columns);
