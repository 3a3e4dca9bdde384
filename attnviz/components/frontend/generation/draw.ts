// One draw: the likeliest characters with logit, logit / T, exp and probability, and where the drawn number falls.

import { element, span } from "../core/dom.ts";
import { fixed, number } from "../core/format.ts";
import { leastType } from "../core/type.ts";
import { arithmetic, drawnSentence, nameOf, percent, whyCut } from "./words.ts";

const ROWS = { most: 20, some: 12, large: 8 }; // of the table; the drawn character follows if it is not among them
const TALL = 900; // px, of a window with room for the most
const NAMED = 0.045; // the least probability whose name fits its part of the line

export class DrawPanel {
  line: HTMLDivElement;
  said: HTMLParagraphElement;
  table: HTMLTableElement;
  reading: HTMLParagraphElement;

  constructor(root: HTMLElement) {
    this.line = element("div", { class: "line" });
    this.said = element("p", { class: "said" });
    this.table = element("table", {});
    this.reading = element("p", { class: "reading" });
    const room = element("div", { class: "table" }, this.table);
    root.append(element("h2", {}, "How it was drawn"), this.said, this.line, room, this.reading);
  }

  update(draw: Draw, header: GenerationHeader) {
    this.said.textContent = drawnSentence(draw, header);
    this.drawLine(draw, header);
    const count = leastType() ? ROWS.large : window.innerHeight >= TALL ? ROWS.most : ROWS.some;
    const rows = draw.rows.slice(0, count);
    if (draw.own.rank >= count) rows.push(draw.own);
    const t = header.temperature || 1;
    const names = ["logit", `logit / ${t}`, "exp", "softmax", "sum"];
    const columns = names.map((name) => element("th", { scope: "col" }, name));
    const [rank, character, bars] = Array.from({ length: 3 }, () => element("td", {})); // these speak for themselves
    const head = element("tr", {}, rank, character, ...columns, bars);
    this.table.replaceChildren(
      element("thead", {}, head),
      element("tbody", {}, ...rows.map((row) => this.row(row, draw, header))),
    );
    this.reading.textContent = arithmetic(draw.own, draw, header);
  }

  row(row: DrawnRow, draw: Draw, header: GenerationHeader) {
    const why = whyCut(row, draw, header);
    const bar = span("bar");
    bar.style.setProperty("--share", String(row.probability));
    const cells = [
      element("td", { class: "rank" }, String(row.rank + 1)),
      element("th", { scope: "row" }, nameOf(header.model, row.id)),
      element("td", {}, number(row.logit, 3)),
      element("td", {}, number(row.scaled, 3)),
      element("td", {}, why ? "–" : number(Math.exp(row.scaled - draw.rows[0].scaled))),
      element("td", { class: "probability", dataset: { value: String(row.probability) } }, number(row.probability)),
      element("td", {}, why ? "–" : fixed(row.sum, 4)),
      element("td", { class: "bars" }, why ? span("cut", why) : bar),
    ];
    const made = element("tr", { dataset: { rank: row.rank } }, ...cells);
    made.classList.toggle("own", row.rank === draw.own.rank);
    made.classList.toggle("out", why !== "");
    made.addEventListener("pointerenter", () => (this.reading.textContent = arithmetic(row, draw, header)));
    made.addEventListener("pointerleave", () => (this.reading.textContent = arithmetic(draw.own, draw, header)));
    return made;
  }

  drawLine(draw: Draw, { model }: GenerationHeader) {
    const parts = draw.rows.slice(0, draw.kept).map((row) => {
      const part = span("part", row.probability >= NAMED ? nameOf(model, row.id) : "");
      part.style.left = `${(row.sum - row.probability) * 100}%`;
      part.style.width = `${row.probability * 100}%`;
      part.title = `“${nameOf(model, row.id)}”: ${percent(row.probability)}`;
      part.classList.toggle("own", row.rank === draw.own.rank);
      return part;
    });
    this.line.replaceChildren(...parts);
    if (draw.number === null) return;
    const mark = span("mark");
    mark.style.left = `${draw.number * 100}%`;
    mark.title = `the drawn number, ${fixed(draw.number, 4)}`;
    this.line.append(mark);
  }
}
