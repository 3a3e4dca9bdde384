// Steps that are sums, norms, activations or a softmax, perhaps of a product in the same picture: each result is
// computed in its turn.

import { geluByTanh, momentsOf, normalShare, turnOf } from "../core/arithmetic.ts";
import { byCell } from "./cells.ts";
import { cell, whole } from "./order.ts";
import { productBeats } from "./products.ts";
import { softmaxBeats } from "./softmax.ts";
import { at, factor, panelOf, rowIn, shown } from "./words.ts";

export function operationBeats(played: Played): Beat[] {
  const { picture } = played;
  const made = Object.entries(picture.products ?? {});
  const results = picture.panels.filter(({ name }) => made.some(([result]) => result === name));
  return results.flatMap((result, n) => {
    const [, own] = made.find(([name]) => name === result.name) as [string, ProductOf | OperationOf];
    const later = Object.fromEntries(results.slice(n + 1).map(({ name, shape }) => [name, [whole(shape)]]));
    return beatsOf(result, own, played).map(({ frame, ...beat }) => ({
      ...beat,
      frame: (share: number) => {
        const now = frame(share);
        return { ...now, blank: { ...now.blank, ...later } };
      },
    }));
  });
}

function beatsOf(result: Panel, made: ProductOf | OperationOf, played: Played): Beat[] {
  const { picture, example } = played;
  if ("left" in made) return productBeats({ ...played, picture: { ...picture, products: { [result.name]: made } } });
  if (made.kind === "softmax") return softmaxBeats(played);
  if (made.kind === "term") return []; // it is shown beside others
  const sources = made.of.flatMap((name) => panelOf(name, picture) ?? []);
  if (sources.length < made.of.length) return [];
  const say = SAID[made.kind](sources, result, made);
  const pairs = made.kind === "rotation" ? pairOf(sources[0], picture, made) : undefined;
  return byCell({ sources, result, say, pairs }, picture.labels, { q: example.q, k: null });
}

/** what is said of a cell, by the kind of operation */
const SAID: Record<Exclude<OperationOf["kind"], "softmax" | "term">, Say> = {
  sum: (...of) => added(...of),
  norm: (...of) => normed(...of),
  rms_norm: (...of) => divided(...of),
  activation: (...of) => activated(...of),
  rotation: (...of) => turned(...of),
};

export type Say = (sources: Panel[], result: Panel, made: OperationOf) => (i: number, j: number) => Said[];

const added: Say = (sources, result) => (i, j) => [
  [sources.map((source) => factor(at(source, i, j))).join(" + ")],
  [" = "],
  [shown(at(result, i, j)), "attention"],
];

/** The other dimension of a pair that is turned, and the angle. */
function pairOf(source: Panel, picture: BoardPicture, made: OperationOf) {
  const angles = panelOf(`${source.name.replace("normed_", "")}_angles`, picture);
  return (i: number, j: number): LitCells[] => {
    const turn = turnOf(made, source.shape[0], i, j);
    if (!turn) return [];
    const other = turn.isFirst ? turn.b : turn.a;
    return [
      { panel: source.name, box: cell(i, other), ink: "attention", strong: true },
      ...(angles ? [{ panel: angles.name, box: cell(i, turn.pair), ink: "attention", strong: true } as const] : []),
    ];
  };
}

const turned: Say =
  ([source], result, made) =>
  (i, j) => {
    const own = at(source, i, j);
    const turn = turnOf(made, source.shape[0], i, j);
    if (!turn) return [[`${shown(own)} stays: this dimension is not turned`]];
    const { a, b, cos, sin, isFirst } = turn;
    const [x, y] = [at(source, i, a), at(source, i, b)].map((one) => factor(one));
    const [first, second] = (isFirst ? [cos, sin] : [sin, cos]).map((one) => factor(one));
    const [left, right] = isFirst ? ["cos θ", "sin θ"] : ["sin θ", "cos θ"];
    const sign = isFirst ? "−" : "+";
    return [
      [`a ${left} ${sign} b ${right} = ${x} × ${first} ${sign} ${y} × ${second} = `],
      [shown(at(result, i, j)), "attention"],
    ];
  };

const divided: Say = ([source], result, { weight, eps, root }) => {
  const roots = Array.from({ length: source.shape[0] }, (_, i) => {
    const row = rowIn(source, i);
    return root ? root[i] : Math.sqrt(row.reduce((sum, x) => sum + x * x, 0) / row.length + (eps ?? 0));
  });
  return (i, j) => [
    [`root mean square of ${root ? "all heads" : "the row"} ${shown(roots[i])}: `],
    [`${shown(at(source, i, j))} ÷ ${shown(roots[i])}${weight ? ` × ${factor(weight[j])}` : ""} = `],
    [shown(at(result, i, j)), "attention"],
  ];
};

/** what each activation does with a number */
const ACTIVATED: Record<string, (x: number) => string> = {
  relu: (x) => `max(0, ${shown(x)})`,
  gelu: (x) => `${factor(x)} × Φ = ${factor(x)} × ${shown(normalShare(x))}`,
  gelu_tanh: (x) => `½ × ${factor(x)} × (1 + tanh …) = ½ × ${factor(x)} × (1 + ${factor(geluByTanh(x).tanh)})`,
};

const activated: Say =
  ([source], result, { name }) =>
  (i, j) => {
    const x = at(source, i, j);
    return [[`${ACTIVATED[name ?? "relu"](x)} = `], [shown(at(result, i, j)), "attention"]];
  };

const normed: Say = ([source], result, { weight, bias, eps, over }) => {
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
