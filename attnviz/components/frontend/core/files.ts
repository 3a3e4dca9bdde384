// Fetches what a view wants, by name: some files at once, the most important first. A file that does not come is asked
// for again after a pause, which grows; when any file comes, all that failed are asked for at once. Only a reason that
// stays true (`Refused`) ends this. What is wanted no more, or by a view that is gone, is never asked for again.

const PAUSE = 1000; // ms before a failed file is asked for again, where the server does not say how long
const LONGEST_PAUSE = 8000; // ms, where the server does not say how long
const LONGEST_WISH = 20_000; // ms that a server may ask for

/** A file that will not come however often it is asked for; the message says why. */
export class Refused extends Error {}

/** A file that has not come; `pause` (ms) is how long the server wants to be left alone. */
export class NotCome extends Error {
  pause: number;

  constructor(why: string, pause = 0) {
    super(why);
    this.pause = pause;
  }
}

export interface Does<Value> {
  /** is called with each file that comes */
  onCome: (name: string, value: Value, isWanted: boolean) => void;
  /** is called when a wanted file has not come */
  onFail?: () => void;
  /** whether a file need not be fetched */
  isHere?: (name: string) => boolean;
}

export class Files<Value> {
  get;
  onCome;
  onFail;
  isHere;
  atOnce: number;
  calm: number;
  wanted: string[] = [];
  ahead: string[] = [];
  coming = new Set<string>();
  /** by the names of what is wanted or fetched ahead */
  failed = new Map<string, Error>();
  pause: number = PAUSE;
  /** until what failed is asked for again */
  resting: number | undefined;
  /** until what is wanted has been wanted for long enough */
  waiting: number | undefined;

  /**
   * @param get fetches one file
   * @param options files fetched at the same time; ms for which nothing else may be wanted before a file is asked for
   */
  constructor(
    get: (name: string) => Promise<Value>,
    { onCome, onFail = () => {}, isHere = () => false }: Does<Value>,
    { atOnce = 1, calm = 0 }: { atOnce?: number; calm?: number } = {},
  ) {
    this.get = get;
    this.onCome = onCome;
    this.onFail = onFail;
    this.isHere = isHere;
    this.atOnce = atOnce;
    this.calm = calm;
  }

  /**
   * Fetches what is shown, the most important first. It replaces what was wanted before and is not yet on its way.
   */
  want(names: string[]) {
    const wanted = [...new Set(names)].filter((name) => name && !this.isHere(name));
    const isSame = wanted.join("\n") === this.wanted.join("\n");
    this.wanted = wanted;
    if (wanted.some((name) => this.isMissing(name))) this.ahead = [];
    for (const name of this.failed.keys()) if (!wanted.includes(name)) this.failed.delete(name);
    if (!this.calm) this.next();
    else if (!isSame) {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.next(), this.calm);
    }
  }

  /** Fetches these too, one at a time, while nothing that is wanted is on its way. */
  fetchAhead(names: string[]) {
    this.ahead = names;
    this.next();
  }

  /** Whether something that is wanted is on its way. */
  get waits() {
    return this.wanted.some((name) => !this.isHere(name) && !this.failed.has(name));
  }

  /** Why a wanted file has not come yet; null if none has failed. */
  get failure(): Error | null {
    return this.wanted.map((name) => this.failed.get(name)).find((error) => error !== undefined) ?? null;
  }

  /** What is said of a wanted file that has not come; "" if all may be on their way. */
  get said() {
    const text = this.failure ? failureText(this.failure) : "";
    return text.charAt(0).toUpperCase() + text.slice(1);
  }

  /** Whether a file was asked for in vain. */
  lost(name: string) {
    return this.failed.has(name);
  }

  /** Asks at once for what has failed. */
  again() {
    for (const [name, error] of this.failed) if (error instanceof Refused) this.failed.delete(name);
    this.resume();
  }

  resume() {
    clearTimeout(this.resting);
    this.resting = undefined;
    this.next();
  }

  isMissing(name: string) {
    const error = this.failed.get(name);
    const rests = error instanceof Refused || (error !== undefined && this.resting !== undefined);
    return !this.isHere(name) && !this.coming.has(name) && !rests;
  }

  next() {
    for (const name of this.wanted) {
      if (this.coming.size < this.atOnce && this.isMissing(name)) this.fetch(name);
    }
    const likely = this.ahead.find((name) => this.isMissing(name));
    if (!this.coming.size && likely) this.fetch(likely);
  }

  async fetch(name: string) {
    this.coming.add(name);
    let value: Value | undefined;
    try {
      value = await this.get(name);
    } catch (error) {
      this.fail(name, error instanceof Error ? error : new Error(String(error)));
    }
    if (value !== undefined) this.take(name, value);
    this.next();
  }

  take(name: string, value: Value) {
    const isWanted = this.wanted.includes(name);
    this.coming.delete(name);
    this.failed.delete(name);
    this.wanted = this.wanted.filter((one) => one !== name);
    this.ahead = this.ahead.filter((one) => one !== name);
    this.pause = PAUSE;
    if (this.failed.size) this.resume(); // the server is back
    this.onCome(name, value, isWanted);
  }

  fail(name: string, error: Error) {
    this.coming.delete(name);
    this.ahead = this.ahead.filter((one) => one !== name);
    if (!this.wanted.includes(name)) return;
    this.failed.set(name, error);
    if (!(error instanceof Refused) && this.resting === undefined) {
      const wish = error instanceof NotCome ? Math.min(error.pause, LONGEST_WISH) : 0;
      this.resting = setTimeout(() => this.resume(), Math.max(this.pause, wish));
      this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
    }
    this.onFail();
  }

  destroy() {
    this.onCome = this.onFail = () => {};
    this.wanted = this.ahead = [];
    this.failed.clear();
    clearTimeout(this.resting);
    clearTimeout(this.waiting);
  }
}

/** What is said of a file that has not come. */
export const failureText = (error: Error) => {
  const why = error.message.replace(/\.$/, "");
  return error instanceof Refused ? `${why}.` : `${why}. It is asked for again.`;
};
