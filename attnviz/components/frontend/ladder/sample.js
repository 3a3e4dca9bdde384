// What a model writes at some snapshots: asked of the server one after another, and kept while the slider moves.

import { fetchArrays } from "../core/arrays.js";
import { element } from "../core/dom.js";

const IN_LESSON = { rows: 5, width: 44 }; // of characters: a scene has no room for more

/** @typedef {import("../core/arrays.js").Source} Source */

export class Sample {
  /** @param {HTMLElement} root @param {Source} source */
  constructor(root, source) {
    this.source = source;
    this.title = element("h2", {});
    this.text = element("p", { class: "written" });
    root.append(this.title, this.text);
    /** @type {Map<string, string>} by address */
    this.known = new Map();
    /** @type {Set<string>} those that did not come */
    this.lost = new Set();
    this.isLoading = false;
    /** @type {LadderGiven | null} */
    this.given = null;
  }

  /** @param {LadderGiven} given */
  update(given) {
    this.given = given;
    const { row, step } = given;
    const { samples, run } = row.rung;
    const at = samples.filter((one) => one <= step && this.known.has(addressOf(run, one))).at(-1);
    const found = at === undefined ? undefined : this.known.get(addressOf(run, at));
    const after = at === undefined ? "" : `, after ${at.toLocaleString("en-US")} ${at === 1 ? "step" : "steps"}`;
    this.title.textContent = `What “${row.rung.title}” writes${after}`;
    const { in_lesson: inLesson } = given.header;
    const shown = inLesson && found ? beginning(found) : found;
    this.text.textContent = shown ?? (this.isLoading ? "It is writing …" : "");
    this.text.dataset.step = at === undefined ? "" : String(at);
    if (!this.isLoading) this.load();
  }

  /** Asks for the sample of the shown step first, then for the others. */
  next() {
    if (!this.given) return undefined;
    const { row, step } = this.given;
    const { samples, run } = row.rung;
    const first = samples.filter((one) => one <= step).at(-1);
    const order = first === undefined ? samples : [first, ...samples];
    return order.map((one) => addressOf(run, one)).find((one) => !this.known.has(one) && !this.lost.has(one));
  }

  async load() {
    const address = this.next();
    if (!address || !this.given) return;
    const { characters } = this.given.header.text;
    this.isLoading = true;
    try {
      const { sample } = await fetchArrays(address, this.source);
      this.known.set(address, Array.from(sample.data, (id) => characters[id] ?? "\ufffd").join(""));
    } catch {
      this.lost.add(address);
    }
    this.isLoading = false;
    if (this.given) this.update(this.given);
  }
}

/** @param {TrainingRun} run @param {number} step */
const addressOf = ({ digest }, step) => `${digest}~g.${step}`;

/** What fits the rows of a scene. @param {string} text */
function beginning(text) {
  const rows = text.split("\n").flatMap((line) => line.match(new RegExp(`.{1,${IN_LESSON.width}}`, "gu")) ?? [""]);
  if (rows.length <= IN_LESSON.rows) return text;
  let end = 0;
  for (const row of rows.slice(0, IN_LESSON.rows)) end += row.length + (text[end + row.length] === "\n" ? 1 : 0);
  return `${text.slice(0, end).trimEnd()} …`;
}
