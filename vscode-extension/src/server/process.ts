import { type ChildProcess, spawn } from "node:child_process";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { type Resolution, serverArguments } from "./resolution";

/** As much of its last line as is shown to the user: the log has all. */
const MOST_SHOWN = 300;
/** Time for what it wrote last to arrive. */
const LAST_WORDS_MS = 500;
/** Time for a server that was told to leave. */
const LEAVE_MS = 2_000;

/** One process of the server. */
export class ServerProcess {
  readonly child: ChildProcess;
  /** Settles with how it ended, in words, once it has. */
  readonly ended: Promise<string>;
  #lastLine: string | undefined;

  /** `hear` is given what it writes to standard error, line by line. */
  constructor(resolution: Resolution, hear: (line: string) => void) {
    // Not in the workspace: nothing there may be taken for a module, a version file or an environment's .env.
    this.child = spawn(resolution.path, serverArguments(resolution), {
      cwd: dirname(resolution.launcher.script),
      stdio: "pipe",
      windowsHide: true,
    });
    if (this.child.stderr !== null) {
      createInterface({ input: this.child.stderr }).on("line", (line) => {
        this.#lastLine = line;
        hear(line);
      });
    }
    this.ended = new Promise((resolve) => {
      this.child.once("error", (error) => resolve(error.message));
      this.child.once("exit", (code, signal) => {
        const end = () => resolve(this.#inWords(code, signal));
        this.child.once("close", end);
        // A process that the server started may still hold its standard error open.
        setTimeout(end, LAST_WORDS_MS).unref();
      });
    });
  }

  kill(): void {
    this.child.kill("SIGKILL");
  }

  /** Settles once it has left, for which it has a moment. */
  async leave(): Promise<void> {
    const limit = setTimeout(() => this.kill(), LEAVE_MS);
    await this.ended;
    clearTimeout(limit);
  }

  #inWords(code: number | null, signal: NodeJS.Signals | null): string {
    // What it wrote before a signal ended it has nothing to do with that.
    if (signal !== null) {
      return `signal ${signal}`;
    }
    return this.#lastLine === undefined
      ? `exit code ${code}`
      : `exit code ${code}: ${this.#lastLine.slice(0, MOST_SHOWN)}`;
  }
}
