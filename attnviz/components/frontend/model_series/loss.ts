// One loss written out: the logits of one position, their softmax, −log of the right character's probability, the mean.

import { forPointer } from "../core/touch.ts";
import { fixed, number, operand } from "../core/format.ts";
import { Latest } from "../core/latest.ts";
import { PairBoard } from "../board/pair_board.ts";
import { NOTHING } from "../core/pin.ts";
import { result, template, write } from "../core/template.ts";
import { visibility } from "../training/answer.ts";
import { afterSteps } from "../training/words.ts";
import type { Source } from "../core/arrays.ts";
import type { Child } from "../core/template.ts";

const CALM = 200; // ms: keys run through many snapshots

export type One = { probability: number; loss: number; top: number; sum: number; logit: number };

const HEADINGS = ["t", "x: what it has read", "y: what follows", "p(y)", "−log p(y)"];

type LossProps = Pick<SeriesProps, "header" | "row" | "step" | "values" | "theme">;

export class Loss {
  room: HTMLElement;
  latest: Latest;
  on;
  given: LossProps | null = null;
  key = "";
  pairs: PairBoard;

  constructor(room: HTMLElement, source: Source, on: { pin: (at: Pair) => void }) {
    this.room = room;
    this.latest = new Latest(source, () => this.given && !room.hidden && this.update(this.given), CALM);
    this.on = on;
    this.pairs = new PairBoard({ point: () => this.light(), pin: on.pin });
  }

  update(given: LossProps) {
    this.given = given;
    const { row, step, theme, header } = given;
    const arrays = this.latest.of(`${row.stage.run.digest}~l.${step}`);
    this.pairs.board.setTheme(theme);
    this.write(); // the board needs its place
    const key = `${this.latest.address} ${theme}`;
    if (arrays && key !== this.key) {
      this.key = key;
      this.showBoard(arrays, header.text);
    }
    if (arrays) this.light();
  }

  showBoard({ logits }: Arrays, text: SeriesText) {
    const [B, T, V] = logits.shape;
    const data = logits.data as Float32Array;
    const most = data.reduce((largest, x) => Math.max(largest, Math.abs(x)), 0);
    const rows = Array.from({ length: B * T }, (_, n) => {
      const block = text.blocks[Math.floor(n / T)];
      return `${text.labels[block[n % T]]}→${text.labels[block[(n % T) + 1]]}`;
    });
    const panel: Panel = {
      ...{ name: "logits", title: "logits.view(B·T, C)", role: null, rows: "query", cols: "key", data },
      axes: ["this → next character", "character that may follow"],
      ...{ shape: [B * T, V], low: -most, high: most, scale: "signed", numbered: true, bar: true },
    };
    const labels = { query: rows, key: text.labels };
    this.pairs.board.show({ panels: [panel], grid: [[0]], labels });
  }

  /** The row that is written out: the one that is pointed at or pinned, or the last of the first block. */
  get row() {
    const rows = this.latest.arrays ? this.latest.arrays.logits.shape[0] * this.latest.arrays.logits.shape[1] : 0;
    const at = this.pairs.hovered.q ?? this.given?.values.pin.q ?? null;
    return at !== null && at < rows ? at : (this.latest.arrays?.logits.shape[1] ?? 1) - 1;
  }

  light() {
    this.pairs.light("logits", this.given?.values.pin ?? NOTHING);
    this.write();
  }

  write() {
    const { arrays, failed } = this.latest;
    if (!this.given) return;
    const { row, step, header } = this.given;
    const [B, T, V] = arrays?.logits.shape ?? [];
    const about = arrays
      ? `“${row.stage.title}” ${afterSteps(step)}, on ${B} blocks of text that it was not ` +
        `trained on. Each position has ${V} logits, one for each character: (B, T, C) = (${B}, ${T}, ${V}). ` +
        `torch wants one row for each prediction, so logits.view(B·T, C) is (${B * T}, ${V}) ` +
        `and y.view(B·T) is (${B * T}).`
      : failed || "The logits are being computed …";
    const head = HEADINGS.map((text) => template("th", { scope: "col" }, text));
    const { rows, steps, reading } = arrays ? this.writtenOut(arrays, header.text) : NONE;
    const table = template(
      "table",
      { dataset: { item: "block" } },
      template("thead", {}, template("tr", {}, ...head)),
      template("tbody", {}, ...rows),
    );
    write(
      this.room,
      template("p", { class: "about" }, about),
      template(
        "div",
        { class: "loss-parts", style: visibility(arrays !== null) }, // nothing of another snapshot or model stays
        template(
          "div",
          { class: "written-out" },
          table,
          template("div", { class: "arithmetic", dataset: { item: "steps" } }, ...steps),
        ),
        template("div", { class: "flattened" }, this.pairs.room, template("p", { class: "reading" }, ...reading)),
      ),
    );
  }

  /** The rows of the block, the steps to the loss of the chosen row, and the logit that is pointed at or pinned. */
  writtenOut({ logits, loss }: Arrays, text: SeriesText) {
    const [B, T, V] = logits.shape;
    const at = this.row;
    const data = logits.data as Float32Array;
    const b = Math.floor(at / T);
    const all = Array.from({ length: B * T }, (_, n) => oneLoss(data, n, V, targetOf(text, n, T)));
    const block = all.slice(b * T, b * T + T);
    const pin = this.given?.values.pin ?? NOTHING;
    const rows = block.map(({ probability, loss: each }, t) => {
      const read = text.blocks[b].slice(0, t + 1).map((id) => text.labels[id]);
      const look = { class: b * T + t === at ? "chosen" : "", onclick: () => this.on.pin({ q: b * T + t, k: pin.k }) };
      const cells = [String(t), read.join(""), text.labels[text.blocks[b][t + 1]]];
      const numbers = [probability, each].map((x) => template("td", { class: "number" }, number(x)));
      return template("tr", look, ...cells.map((cell) => template("td", {}, cell)), ...numbers);
    });
    const chosen = all[at];
    const name = text.labels[targetOf(text, at, T)];
    const ofBlock = mean(block);
    const terms = block.map(({ loss: each }) => fixed(each, 2)).join(" + ");
    const steps = [
      line(`The logit of “${name}” is ${number(chosen.logit)}, the largest is ${number(chosen.top)}.`),
      line(
        `softmax: exp(${number(chosen.logit)} − ${operand(chosen.top, 4)}) / Σ = ` +
          `${number(Math.exp(chosen.logit - chosen.top))} / ${number(chosen.sum)} = `,
        result(chosen.probability, number(chosen.probability)),
      ),
      line(`−log ${number(chosen.probability)} = `, result(chosen.loss, number(chosen.loss), "result one")),
      line(`Mean of block ${b}: (${terms}) / ${T} = `, result(ofBlock, number(ofBlock))),
      line(
        `Mean of all ${B * T}: `,
        result(mean(all), number(mean(all))),
        "; torch's F.cross_entropy: ",
        result(loss.data[0], number(loss.data[0]), "result torch"),
      ),
      line(`If all ${V} characters were equally likely: log ${V} = ${number(Math.log(V))}.`),
    ];
    return { rows, steps, reading: readingOf(logits, text, this.pairs.hovered.q === null ? pin : this.pairs.hovered) };
  }

  destroy() {
    this.latest.destroy();
    this.pairs.board.destroy();
  }
}

const NONE = { rows: [], steps: [], reading: [] };

function readingOf({ data, shape: [B, T, V] }: Packed, text: SeriesText, { q, k }: Pair) {
  if (q === null || k === null || q >= B * T || k >= V) {
    return [forPointer("Point at a logit; a click pins it, and its row is written out.")];
  }
  const value = data[q * V + k];
  const place = `logits[${Math.floor(q / T)}, ${q % T}, ${k}]`;
  return [`Row ${q}, column ${k} “${text.labels[k]}”: ${place} = `, result(value, number(value))];
}

/** The loss of one row of logits. */
export function oneLoss(logits: Float32Array, row: number, V: number, target: number): One {
  const own = logits.subarray(row * V, (row + 1) * V);
  const top = own.reduce((most, x) => Math.max(most, x), -Infinity);
  const sum = own.reduce((all, x) => all + Math.exp(x - top), 0);
  const logit = own[target];
  return { logit, top, sum, probability: Math.exp(logit - top) / sum, loss: Math.log(sum) - (logit - top) };
}

const mean = (each: One[]) => each.reduce((sum, { loss }) => sum + loss, 0) / each.length;

const targetOf = ({ blocks }: SeriesText, row: number, T: number) => blocks[Math.floor(row / T)][(row % T) + 1];

const line = (...parts: Child[]) => template("p", {}, ...parts);
