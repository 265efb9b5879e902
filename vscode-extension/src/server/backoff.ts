const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
/** One that has run this long has recovered from what ended those before it. */
const HEALTHY_MS = 60_000;

/** How long to wait before a server that died is started again: twice as long each time. */
export class Backoff {
  #deaths = 0;

  delayAfterMs(ranForMs: number): number {
    if (ranForMs >= HEALTHY_MS) {
      this.#deaths = 0;
    }
    const delayMs = Math.min(FIRST_MS * 2 ** this.#deaths, LONGEST_MS);
    this.#deaths += 1;
    return delayMs;
  }

  reset(): void {
    this.#deaths = 0;
  }
}
