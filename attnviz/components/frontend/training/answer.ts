// What the model answers after each token of the text, at the shown snapshot.

import { percent } from "../core/format.ts";
import { span, template } from "../core/template.ts";

/** @param moment null until it has come: nothing of another training stays */
export function answers({ read, first, answers: names, right }: TrainingTask, moment: TrainingMoment | null) {
  const items = read.map((token, n) => {
    // Before the first answer a token belongs to the question.
    if (!moment || n < first) return template("li", {}, span("token", token), span("said"));
    const share = moment.probability[n];
    const said = names[moment.answer[n]] ?? "";
    const title = `after ${n} “${token}”: “${said}” with ${percent(share, 1)}`;
    return template("li", { style: { "--share": share }, title }, span("token", token), span("said", said));
  });
  const written = right ? (moment?.written ?? null) : null;
  const isRight = written === right;
  const verdict = isRight ? "✓ right" : `✗ right is ${right}`;
  const told = ["It writes ", template("b", {}, written || "nothing"), " ", span("verdict", verdict)];
  return template(
    "section",
    {
      ...{ class: "answers", "aria-label": "The model's answer", dataset: { item: "answers" } },
      ...{ hidden: !read.length, style: visibility(moment !== null) },
    },
    template("h2", {}, "Its answer after each token"),
    template("ol", { class: "answer" }, ...items),
    written === null
      ? template("p", { class: "written", hidden: true })
      : template("p", { class: "written", dataset: { right: isRight } }, ...told),
  );
}

/** Of what keeps its room while it is not seen. */
export const visibility = (isSeen: boolean) => ({ visibility: isSeen ? undefined : "hidden" });
