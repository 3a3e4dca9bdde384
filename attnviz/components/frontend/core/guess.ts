// A row that a class guesses: which of its cells is the largest. Each guess is judged and counted.

export class Guess {
  row: number;
  /** the columns that were chosen, in order */
  tried: number[] = [];
  /** whether the row is covered, but for what was chosen */
  isOpen = true;
  /** whether a cell of another row was chosen since */
  isElsewhere = false;

  constructor(row: number) {
    this.row = row;
  }

  covers = (i: number, j: number) => this.coversRow(i) && !this.tried.includes(j);

  /** Whether what belongs to a row as a whole is covered: guesses uncover none of it. */
  coversRow = (i: number) => this.isOpen && i === this.row;

  /**
   * Takes a click on a cell, and says whether it was one for the guess: while a row is covered, a click on another one
   * changes nothing.
   * @param row of the cell; null where it belongs to none
   * @param values of the covered row; null where the cell is in a matrix that is not covered
   */
  take({ row, column }: { row: number | null; column: number }, values: ArrayLike<number> | null) {
    if (!this.isOpen || row === null) return false;
    this.isElsewhere = row !== this.row;
    if (this.isElsewhere) return true;
    if (!values || !this.covers(row, column)) return false;
    this.tried.push(column);
    if (rankOf(values, column) === 1) this.isOpen = false;
    return true;
  }

  reveal() {
    this.isOpen = false;
  }
}

/** What names a row and its cells, and writes their numbers. */
export interface GuessWords {
  row: string;
  column: (j: number) => string;
  number: (value: number) => string;
}

/** What is said of a guess. @param values of its row; what is hidden is not finite */
export function guessText(guess: Guess, values: ArrayLike<number>, { row, column, number }: GuessWords) {
  const { tried, isOpen, isElsewhere } = guess;
  if (isElsewhere && isOpen) return `${row}, stays covered until it is revealed.`;
  const last = tried.at(-1);
  const best = largest(values);
  if (last === undefined && isOpen) return `${row}, is covered. Which of its cells is the largest? Choose one.`;
  const isRight = last !== undefined && rankOf(values, last) === 1;
  if (isRight) return `Guess ${tried.length}: ${column(last)} has ${number(values[last])}, the largest. Right.`;
  if (!isOpen || last === undefined) {
    const after = tried.length ? ` Guesses: ${tried.length}.` : "";
    return best < 0
      ? `${row}, is hidden.`
      : `${row}: the largest is ${column(best)}, with ${number(values[best])}.${after}`;
  }
  const [count, rank] = [finite(values).length, rankOf(values, last)];
  const found = rank === null ? "is hidden" : `has ${number(values[last])}, the ${ordinal(rank)} largest of ${count}`;
  return `Guess ${tried.length}: ${column(last)} ${found}. Try again.`;
}

const finite = (values: ArrayLike<number>) => Array.from(values).filter(Number.isFinite);

/** The place of the largest number, the first of several; −1 where none is finite. */
const largest = (values: ArrayLike<number>) => Array.from(values).findIndex((_, j) => rankOf(values, j) === 1);

/** How many numbers are larger, and one; null of what is hidden. */
const rankOf = (values: ArrayLike<number>, j: number) =>
  Number.isFinite(values[j]) ? 1 + finite(values).filter((value) => value > values[j]).length : null;

/** 1st, 2nd, 11th */
function ordinal(n: number) {
  const isTeen = Math.floor(n / 10) % 10 === 1;
  return `${n}${(!isTeen && ["th", "st", "nd", "rd"][n % 10]) || "th"}`;
}
