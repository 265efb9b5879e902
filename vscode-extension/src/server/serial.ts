/** Runs a task one at a time. Whatever is asked for while it runs is done by one more run after it. */
export class Serial {
  #last: Promise<void> = Promise.resolve();
  #queued: Promise<void> | undefined;

  constructor(private readonly task: () => Promise<void>) {}

  /** Settles as the first run does that begins after this call. */
  request(): Promise<void> {
    this.#queued ??= this.#last = this.#after(this.#last);
    return this.#queued;
  }

  /** Settles when nothing that was asked for until now is left to run. */
  async settled(): Promise<void> {
    await this.#last.catch(() => undefined);
  }

  async #after(last: Promise<void>): Promise<void> {
    // Whoever asked for it has been told of its failure.
    await last.catch(() => undefined);
    this.#queued = undefined;
    await this.task();
  }
}
