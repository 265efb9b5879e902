import type { Candidate, Failure, Proposal } from "./candidate";
import { Unusable } from "./probe";

export interface Choice<T> {
  readonly chosen: T | undefined;
  /** Those that were asked before it, and did not work. */
  readonly failures: readonly Failure[];
}

/**
 * The first proposal that works. A source is asked only when those before it had nothing that works, and a
 * path is tried once. `examine` rejects with `Unusable` for an interpreter that does not work.
 */
export async function choose<T>(
  proposals: AsyncIterable<Proposal>,
  examine: (candidate: Candidate) => Promise<T>,
): Promise<Choice<T>> {
  const failures: Failure[] = [];
  const tried = new Set<string>();
  for await (const proposal of proposals) {
    if ("reason" in proposal) {
      failures.push(proposal);
    } else if (!tried.has(proposal.path)) {
      tried.add(proposal.path);
      try {
        return { chosen: await examine(proposal), failures };
      } catch (error) {
        failures.push({ source: proposal.source, reason: reasonOf(error) });
      }
    }
  }
  return { chosen: undefined, failures };
}

function reasonOf(error: unknown): string {
  if (error instanceof Unusable) {
    return error.message;
  }
  throw error;
}
