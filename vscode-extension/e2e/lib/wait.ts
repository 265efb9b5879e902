const POLL_MS = 100;

/** What `probe` returns once that is neither empty nor false; an error that names `what` when it is not in time. */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  withinMs = 30_000,
): Promise<Exclude<T, undefined | null | false | "" | 0>> {
  const end = Date.now() + withinMs;
  for (;;) {
    const seen = await probe();
    if (seen) {
      return seen as Exclude<T, undefined | null | false | "" | 0>;
    }
    if (Date.now() > end) {
      throw new Error(`waited ${withinMs / 1000} s for ${what}`);
    }
    await pause(POLL_MS);
  }
}

/** Hold that `probe` stays true for a time in which, were something wrong, it would show. */
export async function stays(
  what: string,
  probe: () => boolean | Promise<boolean>,
  forMs: number,
): Promise<void> {
  const end = Date.now() + forMs;
  do {
    if (!(await probe())) {
      throw new Error(`no longer: ${what}`);
    }
    await pause(POLL_MS);
  } while (Date.now() < end);
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
