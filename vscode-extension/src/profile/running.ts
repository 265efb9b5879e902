import { open, rm } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as vscode from "vscode";
import { commandLine, type Profiling, profilingOf } from "./invocation";
import { outcomeOf } from "./outcome";
import { type Finished, inWords, STARTING, type Stage, StageReader } from "./stages";

export const TASK_TYPE = "warplint";
const SHOW_TERMINAL = "Show Terminal";
/** How often a file is looked at that stages are told in. */
const LOOK_EVERY_MS = 250;
const PASSING_MS = 5_000;

/** One task that profiles, while it runs. */
interface Run {
  readonly execution: vscode.TaskExecution;
  readonly profiling: Profiling;
  readonly file: string;
  /** Set when it ends. */
  exitCode?: number | undefined;
  ended: boolean;
  cancelled: boolean;
}

/** Follows every task that profiles, whoever started it: shows its stages, and says how it ended. */
export class Running implements vscode.Disposable {
  readonly #runs = new Map<vscode.TaskExecution, Run>();
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly log: vscode.LogOutputChannel) {
    this.#subscriptions = vscode.Disposable.from(
      vscode.tasks.onDidStartTask(({ execution }) => this.#begin(execution)),
      vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
        const run = this.#runs.get(execution);
        if (run !== undefined) {
          run.exitCode = exitCode;
        }
      }),
      vscode.tasks.onDidEndTask(({ execution }) => {
        const run = this.#runs.get(execution);
        if (run !== undefined) {
          run.ended = true;
        }
      }),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  /** The task that profiles a file now. */
  of(file: string): vscode.TaskExecution | undefined {
    return [...this.#runs.values()].find((run) => run.file === file)?.execution;
  }

  #begin(execution: vscode.TaskExecution): void {
    const { definition, execution: how } = execution.task;
    const profiling =
      definition.type === TASK_TYPE && how instanceof vscode.ProcessExecution
        ? profilingOf(how.args)
        : undefined;
    const file = profiling?.command[1];
    if (profiling === undefined || file === undefined) {
      return;
    }
    const run: Run = { execution, profiling, file, ended: false, cancelled: false };
    this.#runs.set(execution, run);
    this.#see(run).catch((error: unknown) => this.log.error(error instanceof Error ? error : String(error)));
  }

  async #see(run: Run): Promise<void> {
    let finished: Finished | undefined;
    try {
      finished = await this.#follow(run);
    } finally {
      this.#runs.delete(run.execution);
      // "Rerun Last Task" starts the same process again, which must not find what the last one told.
      await rm(run.profiling.progressFile, { force: true });
    }
    await say(run, finished);
  }

  async #follow(run: Run): Promise<Finished | undefined> {
    return vscode.window.withProgress(
      {
        location: vscode.ProgressLocation.Notification,
        title: `Profiling ${basename(run.file)}`,
        cancellable: true,
      },
      (progress, token) => {
        token.onCancellationRequested(() => {
          run.cancelled = true;
          run.execution.terminate();
        });
        progress.report({ message: STARTING });
        return untilTheEnd(run, (stage) => progress.report({ message: inWords(stage) }));
      },
    );
  }
}

/** What was told last, if it was the end. */
async function untilTheEnd(run: Run, tell: (stage: Stage) => void): Promise<Finished | undefined> {
  const reader = new StageReader();
  let read = 0;
  let last: Stage | undefined;
  for (;;) {
    // The last look comes after the end: what was told before it is not missed.
    const { ended } = run;
    const text = await textFrom(run.profiling.progressFile, read);
    read += text.length;
    for (const stage of reader.read(text.toString())) {
      last = stage;
      tell(stage);
    }
    if (ended) {
      return last?.state === "finished" ? last : undefined;
    }
    await sleep(LOOK_EVERY_MS);
  }
}

async function textFrom(file: string, position: number): Promise<Buffer> {
  try {
    const handle = await open(file);
    try {
      const length = (await handle.stat()).size - position;
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      return Buffer.alloc(0);
    }
    throw error;
  }
}

const MESSAGES = {
  warning: vscode.window.showWarningMessage,
  error: vscode.window.showErrorMessage,
} as const;

async function say(run: Run, finished: Finished | undefined): Promise<void> {
  const { exitCode, cancelled, file, profiling, execution } = run;
  const outcome = outcomeOf(
    { finished, exitCode, cancelled },
    basename(file),
    commandLine(profiling.command),
  );
  if (outcome.kind === "passing") {
    vscode.window.setStatusBarMessage(`$(flame) ${outcome.text}`, PASSING_MS);
  } else if (outcome.kind !== "none") {
    const pressed = await MESSAGES[outcome.kind](outcome.text, SHOW_TERMINAL);
    if (pressed === SHOW_TERMINAL) {
      showTerminal(execution.task.name);
    }
  }
}

export function showTerminal(taskName: string): void {
  [...vscode.window.terminals]
    .reverse()
    .find(({ name }) => name.includes(taskName))
    ?.show();
}
