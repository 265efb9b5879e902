import { lstatSync, statSync } from "node:fs";
import { type Launcher, launcherArguments } from "./launcher";
import type { Working } from "./probe";

interface Answer {
  readonly stamp: string;
  readonly report: Promise<Working>;
}

/**
 * What interpreters answered, kept while their files stay the same: asking one takes a second on a busy machine.
 *
 * A failure is not kept, since its remedy may leave the file as it is.
 */
export class Probes {
  readonly #answers = new Map<string, Answer>();

  constructor(private readonly ask: (python: string, launcher: Launcher) => Promise<Working>) {}

  /** Rejects as `ask` does. */
  report(python: string, launcher: Launcher): Promise<Working> {
    const key = JSON.stringify([python, ...launcherArguments(launcher)]);
    const stamp = stampOf(python);
    const known = this.#answers.get(key);
    if (known?.stamp === stamp) {
      return known.report;
    }
    const answer: Answer = { stamp, report: this.ask(python, launcher) };
    this.#answers.set(key, answer);
    answer.report.catch(() => {
      if (this.#answers.get(key) === answer) {
        this.#answers.delete(key);
      }
    });
    return answer.report;
  }

  /** Packages may have been installed, which leaves the interpreters' files as they are. */
  forget(): void {
    this.#answers.clear();
  }
}

/** Changes when another file takes an interpreter's place, also behind a link: an environment made anew, say. */
function stampOf(python: string): string {
  const stats = [lstatSync, statSync].map((look) => look(python, { throwIfNoEntry: false }));
  return JSON.stringify(stats.map((stat) => stat && [stat.ino, stat.size, stat.mtimeMs]));
}
