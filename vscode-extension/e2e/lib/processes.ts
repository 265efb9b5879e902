import { readdirSync, readFileSync } from "node:fs";
import { until } from "./wait.ts";

export interface Process {
  readonly id: number;
  readonly command: readonly string[];
}

/** The running processes that have `word` in their environment, which children inherit. */
export function processesWith(word: string): Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        if (!readFileSync(`/proc/${name}/environ`, "latin1").includes(word)) {
          return [];
        }
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").slice(0, -1);
        // A process that has ended, but was not waited for, has no command.
        return command.length > 0 ? [{ id: Number(name), command }] : [];
      } catch {
        return []; // it has ended since the listing, or is another user's
      }
    });
}

/** End all of them, unasked: VS Code takes more than three seconds over it where it is asked. */
export async function endAll(word: string): Promise<void> {
  await until("processes to be gone", () => {
    const running = processesWith(word);
    for (const { id } of running) {
      try {
        process.kill(id, "SIGKILL");
      } catch {
        // it has ended since the listing
      }
    }
    return running.length === 0;
  });
}
