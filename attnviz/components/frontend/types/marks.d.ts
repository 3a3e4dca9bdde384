// Texts whose words name parts of a picture: attnviz/annotated_text.py describes them.

/** What a word names: a query, a key, a matrix, a part of it, a head; together they narrow it. */
interface PictureTarget {
  row: number | null;
  column: number | null;
  matrix: string;
  part: string;
  layer: number | null;
  head: number | null;
}
/** The same on a page: also a part of the page that is no matrix, or something at a step of a training. */
interface Target extends PictureTarget {
  item: string;
  step: number | null;
}
/** Characters [from, to) of a text, counted as Python does, by code points. */
interface TargetMark extends PictureTarget {
  from: number;
  to: number;
}
interface MarkedText {
  text: string;
  marks: TargetMark[];
}
type SaidText = string | MarkedText;
/** Cells of a matrix in rows [first, last] and columns [first, last]: all of them, or some. */
interface Region {
  panel: DrawnPanel;
  rows: Span;
  columns: Span;
  isInside?: IsCovered;
}
/** What a target names in a drawn picture: rows and columns, in one matrix or in all, and regions. */
interface Named {
  kinds: Record<string, number | null>;
  /** the one matrix, or "" */
  matrix: string;
  regions: Region[];
}
/** What is lit in a picture: the cell that is pointed at, and the pinned row and column; of all heads, the one. */
interface LitNow {
  /** the head that is pointed at, and the one that is shown */
  head?: HeadId | null;
  chosen?: HeadId | null;
  panels: DrawnPanel[];
  hovered: LitCell | null;
  pinned: AxisPin;
}
