// One draw: the likeliest characters with logit, logit / T, exp and probability, and where the drawn number falls.

import { unseen } from "../core/dom.ts";
import { fixed, number, percent } from "../core/format.ts";
import { span, template } from "../core/template.ts";
import { leastType } from "../core/type.ts";
import { arithmetic, drawnSentence, nameOf, whyCut } from "./words.ts";
import type { Child } from "../core/template.ts";

const ROWS = { most: 20, some: 12, large: 8 }; // of the table; the drawn character follows if it is not among them
const TALL = 900; // px, of a window with room for the most
const NAMED = 0.045; // the least probability whose name fits its part of the line

export function drawPanel(draw: Draw, header: GenerationHeader, pointer: Pointer): Child[] {
  const count = leastType() ? ROWS.large : window.innerHeight >= TALL ? ROWS.most : ROWS.some;
  const rows = draw.rows.slice(0, count);
  if (draw.own.rank >= count) rows.push(draw.own);
  const names = ["logit", `logit / ${header.temperature || 1}`, "exp", "softmax", "sum"];
  const columns = names.map((name) => template("th", { scope: "col" }, name));
  // They speak for themselves to the eye.
  const [ranks, characters, bars] = ["rank", "character", "share as a bar"].map((name) =>
    template("th", { scope: "col" }, unseen(name)),
  );
  const pointed = rows.find(({ rank }) => pointer.at === String(rank)) ?? draw.own;
  return [
    template("h2", {}, "How it was drawn"),
    template("p", { class: "said" }, drawnSentence(draw, header)),
    template("div", { class: "line" }, ...lineOf(draw, header)),
    template(
      "div",
      { class: "table" },
      template(
        "table",
        {},
        template("thead", {}, template("tr", {}, ranks, characters, ...columns, bars)),
        template("tbody", {}, ...rows.map((row) => tableRow(row, draw, header, pointer))),
      ),
    ),
    template("p", { class: "reading" }, arithmetic(pointed, draw, header)),
  ];
}

function tableRow(row: DrawnRow, draw: Draw, header: GenerationHeader, pointer: Pointer) {
  const why = whyCut(row, draw, header);
  const look = [row.rank === draw.own.rank && "own", why && "out"].filter(Boolean).join(" ");
  return template(
    "tr",
    { key: row.rank, class: look, dataset: { rank: row.rank }, ...pointer.over(String(row.rank)) },
    template("td", { class: "rank" }, String(row.rank + 1)),
    template("th", { scope: "row" }, nameOf(header.model, row.id)),
    template("td", {}, number(row.logit, 3)),
    template("td", {}, number(row.scaled, 3)),
    template("td", {}, why ? "–" : number(Math.exp(row.scaled - draw.rows[0].scaled))),
    template("td", { class: "probability", dataset: { value: row.probability } }, number(row.probability)),
    template("td", {}, why ? "–" : fixed(row.sum, 4)),
    template(
      "td",
      { class: "bars" },
      why ? span("cut", why) : template("span", { class: "bar", style: { "--share": row.probability } }),
    ),
  );
}

function lineOf(draw: Draw, { model }: GenerationHeader) {
  const parts = draw.rows.slice(0, draw.kept).map(({ id, rank, probability, sum }) => {
    const name = nameOf(model, id);
    const title = `“${name}”: ${percent(probability, 1)}`;
    const style = { left: `${(sum - probability) * 100}%`, width: `${probability * 100}%` };
    const look = rank === draw.own.rank ? "part own" : "part";
    return template("span", { class: look, style, title }, probability >= NAMED && name);
  });
  if (draw.number === null) return parts;
  const title = `the drawn number, ${fixed(draw.number, 4)}`;
  return [...parts, template("span", { class: "mark", style: { left: `${draw.number * 100}%` }, title })];
}
