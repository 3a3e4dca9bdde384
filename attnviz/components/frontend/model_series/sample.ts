// What a model writes at some snapshots: asked of the server one after another, and kept while the slider moves.

import { fetchArrays } from "../core/arrays.ts";
import { Files } from "../core/files.ts";
import { template, write } from "../core/template.ts";
import { afterSteps } from "../training/words.ts";
import type { Source } from "../core/arrays.ts";

const IN_LESSON = { rows: 5, width: 44 }; // of characters: a scene has no room for more

type SampleProps = Pick<SeriesProps, "row" | "step" | "header">;

export class Sample {
  room: HTMLElement;
  /** by address */
  known = new Map<string, string>();
  given: SampleProps | null = null;
  files: Files<Arrays>;

  constructor(room: HTMLElement, source: Source) {
    this.room = room;
    this.files = new Files((address) => fetchArrays(address, source), {
      onCome: (address, arrays) => this.take(address, arrays),
      onFail: () => this.write(),
    });
  }

  update(given: SampleProps) {
    this.given = given;
    this.files.want(this.missing());
    this.write();
  }

  write() {
    if (!this.given) return;
    const { row, step, header } = this.given;
    const { samples, run } = row.stage;
    const at = samples.filter((one) => one <= step && this.known.has(addressOf(run, one))).at(-1);
    const found = at === undefined ? undefined : this.known.get(addressOf(run, at));
    const after = at === undefined ? "" : `, ${afterSteps(at)}`;
    const shown = header.in_lesson && found ? beginning(found) : found;
    const coming = this.files.said || (this.files.waits ? "It is writing …" : "");
    write(
      this.room,
      template("h2", {}, `What “${row.stage.title}” writes${after}`),
      template("p", { class: "written", dataset: { step: at ?? "" } }, shown ?? coming),
    );
  }

  /** The addresses of what has to come: the sample of the shown step first, then the others. */
  missing() {
    if (!this.given) return [];
    const { row, step } = this.given;
    const { samples, run } = row.stage;
    const first = samples.filter((one) => one <= step).at(-1);
    const order = first === undefined ? samples : [first, ...samples];
    return order.map((one) => addressOf(run, one)).filter((one) => !this.known.has(one));
  }

  take(address: string, { sample }: Arrays) {
    const { characters } = (this.given as SampleProps).header.text;
    this.known.set(address, Array.from(sample.data, (id) => characters[id] ?? "\ufffd").join(""));
    this.files.want(this.missing());
    this.write();
  }

  destroy() {
    this.files.destroy();
  }
}

const addressOf = ({ digest }: TrainingRun, step: number) => `${digest}~g.${step}`;

/** What fits the rows of a scene. */
function beginning(text: string) {
  const rows = text.split("\n").flatMap((line) => line.match(new RegExp(`.{1,${IN_LESSON.width}}`, "gu")) ?? [""]);
  if (rows.length <= IN_LESSON.rows) return text;
  let end = 0;
  for (const row of rows.slice(0, IN_LESSON.rows)) end += row.length + (text[end + row.length] === "\n" ? 1 : 0);
  return `${text.slice(0, end).trimEnd()} …`;
}
