// A part of a page whose script most visits never need: it is fetched when it is first wanted.

export class Later<T> {
  /** null until it is here */
  value: T | null = null;
  isComing = false;
  fetch;
  onCome;

  /** @param onCome called when it is here */
  constructor(fetch: () => Promise<T>, onCome: () => void) {
    this.fetch = fetch;
    this.onCome = onCome;
  }

  /** Fetches it, if it is not here; after a failure, the next call tries again. */
  async want() {
    if (this.value || this.isComing) return;
    this.isComing = true;
    try {
      this.value = await this.fetch();
    } catch {
      return;
    } finally {
      this.isComing = false;
    }
    this.onCome();
  }
}
