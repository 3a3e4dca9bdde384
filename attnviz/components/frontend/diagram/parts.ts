// The parts of a model, from what the server says of its attentions: stacks of blocks of parts. Pure functions, no DOM.

import { STEP_ORDER } from "../core/constants.ts";
import { subscript } from "../core/format.ts";

/** The steps that are one part, the attention of all heads. */
const ATTENTION: string[] = STEP_ORDER.slice(STEP_ORDER.indexOf("qkv"), STEP_ORDER.indexOf("output") + 1);

/** What each other step is. */
const STEPS: Record<string, { kind: PartKind; name: string; short: string }> = {
  tokens: { kind: "tokens", name: "tokens", short: "Tokens" },
  embeddings: { kind: "input", name: "input", short: "X" },
  input_norm: { kind: "norm", name: "norm before attention", short: "Norm" },
  attention_residual: { kind: "add", name: "add, after attention", short: "+" },
  attention_norm: { kind: "norm", name: "norm after attention", short: "Norm" },
  feed_forward_norm: { kind: "norm", name: "norm before feed-forward", short: "Norm" },
  feed_forward_hidden: { kind: "widen", name: "feed-forward, hidden units", short: "" },
  feed_forward_output: { kind: "narrow", name: "feed-forward, output", short: "" },
  feed_forward_residual: { kind: "add", name: "add, after feed-forward", short: "+" },
  block_output: { kind: "norm", name: "norm after feed-forward", short: "Norm" },
  final_norm: { kind: "norm", name: "final norm", short: "Norm" },
  transform_hidden: { kind: "dense", name: "head, dense layer", short: "Dense" },
  transform_norm: { kind: "norm", name: "head, norm", short: "Norm" },
  logits: { kind: "logits", name: "logits", short: "Logits" },
  probabilities: { kind: "softmax", name: "softmax", short: "Softmax" },
};
const INPUTS = ["tokens", "embeddings"];
const AFTER = ["final_norm", "transform_hidden", "transform_norm", "logits", "probabilities"]; // all blocks

/**
 * The stacks of a model in the order of computation. What stands before the first block and after the last one is a
 * block without a number.
 */
export function stacksOf(model: ModelDiagram): Stack[] {
  const stacks: Stack[] = [];
  for (const [layer, attention] of model.attentions.entries()) {
    const isFirst = stacks.at(-1)?.name !== attention.stack;
    if (isFirst) stacks.push({ name: attention.stack, blocks: [] });
    const { blocks } = stacks[stacks.length - 1];
    for (const part of partsOf(model, layer, isFirst)) {
      const { end, isInside } = part;
      const id = `${attention.stack} ${isInside ? attention.block : end}`;
      const known = blocks.find((block) => block.id === id);
      if (known) known.parts.push(part);
      else blocks.push({ id, number: isInside ? attention.block : null, reach: reachOf(attention), parts: [part] });
    }
  }
  return stacks;
}

/** " · local" where a block's attention has a window, " · global" of the others in such a model; else "". */
const reachOf = ({ mark }: ModelAttention) => (mark ? ` · ${mark === "global" ? mark : "local"}` : "");

/** All parts in the order of computation. */
export const allParts = (stacks: Stack[]) => stacks.flatMap(({ blocks }) => blocks.flatMap(({ parts }) => parts));

/** The part that a step belongs to. */
export function partAt(parts: Part[], { layer, step }: { layer: number; step: string }) {
  const own = parts.filter((part) => part.layer === layer);
  return own.find(({ steps }) => steps.some(([name]) => name === step)) ?? own[0] ?? null;
}

/**
 * The parts of an attention's document, and whether they stand in its block; else at which end of the stack.
 * @param isFirst of its stack
 */
function partsOf(model: ModelDiagram, layer: number, isFirst: boolean): (Part & { isInside: boolean; end: string })[] {
  const { steps, stack, block } = model.attentions[layer];
  const runs: Option[][] = [];
  for (const option of steps) {
    const run = runs.at(-1);
    const last = run?.at(-1)?.[0] ?? "";
    // What a later attention is given is shown with it.
    const joins = ATTENTION.includes(last) ? ATTENTION : isFirst || !INPUTS.includes(last) ? [] : [...INPUTS, "qkv"];
    if (run && joins.includes(option[0])) run.push(option);
    else runs.push([option]);
  }
  return runs.map((run) => {
    const [first, title] = run.find(([step]) => ATTENTION.includes(step)) ?? run[run.length - 1];
    const known = ATTENTION.includes(first) ? attentionPart(model.attentions[layer]) : STEPS[first];
    const { kind, name: plain, short } = known ?? { kind: "other", name: title.toLowerCase(), short: title };
    const crosses = model.attentions[layer].kind === "cross";
    const name = crosses ? plain.replace(/ attention$/, " attention to the encoder") : plain;
    const made = { id: `${layer} ${first}`, layer, steps: run, opens: first, kind, name, lines: [short], says: "" };
    const part = isFirst && kind === "input" && !block ? embeddings(made, model) : made;
    const isLast = AFTER.includes(first);
    const isInside = !isLast && !(isFirst && INPUTS.includes(first));
    const place = isInside ? `${stack} block ${block}` : stack;
    return { ...part, place, isInside, end: isLast ? "end" : "start", ...sizesOf(part.kind, model, layer) };
  });
}

function attentionPart({ kind }: ModelAttention): { kind: PartKind; name: string; short: string } {
  const name = { encoder: "attention", decoder: "masked attention", cross: "attention to the encoder" }[kind];
  return { kind: "attention", name, short: "" };
}

/** The input of a stack's first block. */
function embeddings<P extends object>(part: P, { positions }: ModelDiagram) {
  const kind = "embeddings" as PartKind;
  if (!positions) return { ...part, kind, name: "embeddings", lines: ["Embed"] };
  return { ...part, kind, name: `embeddings + positions (${positions})`, lines: ["Embed", "+ pos."] };
}

/** What goes into a part and comes out of it, and the weights between. */
function sizesOf(
  kind: PartKind,
  model: ModelDiagram,
  layer: number,
): { widths: [number, number]; says: string; lines?: string[] } {
  const { width: c, vocabulary } = model;
  const { stack, heads, feed_forward: maps, kind: attention } = model.attentions[layer];
  const f = maps?.at(-1)?.[0] ?? null; // the width that is brought back to C
  const rows = model.tokens[stack]?.length ?? 0;
  const keys = attention === "cross" ? (model.tokens.encoder?.length ?? 0) : rows;
  const v = vocabulary ?? 0;
  const changed = (from: number, to: number, weights = "") =>
    `${rows} × ${from} → ${rows} × ${to}${weights && `, ${weights}`}`;
  /** The weights of maps; with a gate there are more than two. */
  const named = (start: number, end: number) =>
    (maps ?? [])
      .slice(start, end)
      .map(([from, to], n) => `W${maps?.length === 2 ? subscript(start + n + 1) : ""} ${from} × ${to}`)
      .join(", ");
  if (kind === "tokens") return { widths: [0, 0], says: counted(rows, "token") };
  if (kind === "embeddings") return { widths: [0, c], says: `${counted(rows, "token")} → ${rows} × ${c}` };
  if ((kind === "widen" || kind === "narrow") && !f) return { widths: [c, c], says: counted(rows, "row") };
  const last = (maps?.length ?? 1) - 1;
  if (kind === "widen" && f) {
    return { widths: [c, f], says: changed(c, f, named(0, last)), lines: [`${c} → ${f}`] };
  }
  if (kind === "narrow" && f) {
    return { widths: [f, c], says: changed(f, c, named(last, last + 1)), lines: [`${f} → ${c}`] };
  }
  if (kind === "dense") return { widths: [c, c], says: changed(c, c, `W ${c} × ${c}`) };
  if (kind === "logits") return { widths: [c, v], says: changed(c, v) };
  if (kind === "softmax") return { widths: [v, v], says: changed(v, v) };
  if (kind === "attention") {
    const short = { encoder: heads === 1 ? "Self-" : "Multi-head", decoder: "Masked", cross: "Cross-" }[attention];
    return {
      widths: [c, c],
      says: `${headsSaid(model.attentions[layer])}, weights ${rows} × ${keys} each`,
      lines: [short, "attention"],
    };
  }
  return { widths: [c, c], says: changed(c, c) };
}

/** "8 heads of width 4, which share 2 heads of keys, window of 3" */
function headsSaid({ heads, head_size: d, key_heads: shared, mark }: ModelAttention) {
  const keys = shared !== null && shared < heads ? [`which share ${counted(shared, "head")} of keys`] : [];
  return [`${counted(heads, "head")} of width ${d}`, ...keys, ...(mark ? [mark] : [])].join(", ");
}

const counted = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;
