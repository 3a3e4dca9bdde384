// The marks in a document's texts: what words name. attnviz/document/marks.py has the same checks in the same order and
// words.

import { AXES } from "./picture_checks.js";
import { isObject, refuse } from "./safetensors.js";

/** @typedef {import("./document.js").Header} Header */

/** Parts of matrices of queries by keys: attnviz/marked.py describes them. */
export const PARTS = ["hidden", "diagonal", "largest", "smallest"];
const SAID = /** @type {const} */ (["notice", "fact", "advice"]);
const MAX_MARKS = 64;
const WHOLE = ["row", "column", "layer", "head"];
const FIELDS = ["from", "to", "matrix", "part", ...WHOLE];

/** Whether JSON is a text, plain or marked. @param {unknown} value */
function isSaid(value) {
  if (typeof value === "string") return true;
  const isWhole = isObject(value) && Object.keys(value).length === 2 && typeof value.text === "string";
  return isWhole && Array.isArray(value.marks) && value.marks.every(isMark);
}

/** Whether JSON is such a text, or a list of such. @param {unknown} value */
export const areSaid = (value) => (Array.isArray(value) ? value.every(isSaid) : isSaid(value));

/** @param {unknown} value */
function isMark(value) {
  return (
    isObject(value) &&
    Object.keys(value).length === FIELDS.length &&
    FIELDS.every((name) => Object.hasOwn(value, name)) &&
    [value.from, value.to].every(Number.isSafeInteger) &&
    WHOLE.every((name) => value[name] === null || Number.isSafeInteger(value[name])) &&
    [value.matrix, value.part].every((one) => typeof one === "string")
  );
}

/** All marked texts of a header, with where they stand. @param {Header} header @returns {[string, MarkedText][]} */
function markedIn({ steps }) {
  return steps.flatMap((step, index) =>
    SAID.flatMap((name) =>
      [step[name]]
        .flat()
        .flatMap((text) =>
          typeof text === "string"
            ? []
            : [/** @type {[string, MarkedText]} */ ([`header.steps[${index}].${name}`, text])],
        ),
    ),
  );
}

/** @param {Header} header @throws {import("./safetensors.js").DocumentError} */
export function checkTargets(header) {
  for (const [, { marks }] of markedIn(header)) {
    if (!marks.every(namesSomething)) refuse("A mark in the document's texts names nothing.");
  }
}

/** @param {Target} target */
function namesSomething({ row, column, matrix, part, layer, head }) {
  const isOfRow = part === "largest" || part === "smallest";
  if (part && (!PARTS.includes(part) || column !== null || (row !== null && !isOfRow))) return false;
  if (layer !== null && head === null) return false;
  return row !== null || column !== null || head !== null || matrix !== "" || part !== "";
}

/**
 * The marks of all texts are in them, and name parts that a picture of this document may have.
 * @param {Header} header @throws {import("./safetensors.js").DocumentError}
 */
export function checkMarks(header) {
  for (const [path, { text, marks }] of markedIn(header)) {
    const { length } = Array.from(text);
    if (marks.length > MAX_MARKS) {
      refuse(`${path} has ${marks.length.toLocaleString("en-US")} marks; a text has at most ${MAX_MARKS}.`);
    }
    let at = 0;
    for (const mark of marks) {
      if (mark.from < at || mark.to <= mark.from || mark.to > length) {
        refuse(`${path} has marks that are not in its text, in order.`);
      }
      at = mark.to;
      if (!isThere(mark, header)) refuse(`${path} has a mark that names what the document does not have.`);
    }
  }
}

/** @param {Target} target @param {Header} header */
function isThere({ row, column, matrix, layer, head }, header) {
  const { query, key, heads } = header;
  return (
    (row === null || (row >= 0 && row < query.labels.length)) &&
    (column === null || (column >= 0 && column < key.labels.length)) &&
    (matrix === "" || Object.hasOwn(AXES, matrix)) &&
    (layer === null || layer === header.layer) &&
    (head === null || heads.includes(head))
  );
}
