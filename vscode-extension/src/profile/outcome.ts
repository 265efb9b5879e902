import type { Finished } from "./stages";

/** How a task ended. */
export interface End {
  /** What Warplint told last, if it came that far. */
  readonly finished: Finished | undefined;
  /** Of the task's process; undefined when it was killed. */
  readonly exitCode: number | undefined;
  readonly cancelled: boolean;
}

/** What the user is told: nothing, a word in passing, or a message that stays. */
export type Outcome =
  | { readonly kind: "none" }
  | { readonly kind: "passing" | "warning" | "error"; readonly text: string };

/** SIGHUP, SIGINT and SIGTERM: the user closed the terminal, or stopped the program. */
const STOPPED = new Set([1, 2, 15]);

const ALREADY_SAID = /^nothing (?:was|will be) captured: /;

/** What most first runs that fail need: the Python that was found is not the one with the packages. */
const OTHER_PYTHON =
  'If packages are missing there, name another Python in the setting "warplint.program.interpreter".';

/** `name` is the file's, `command` the command line that was profiled. */
export function outcomeOf(end: End, name: string, command: string): Outcome {
  const { finished, exitCode, cancelled } = end;
  if (cancelled || (finished === undefined && exitCode === undefined)) {
    return { kind: "none" };
  }
  if (finished === undefined) {
    return {
      kind: "error",
      text: `Warplint itself failed with exit code ${exitCode}, so ${name} was not profiled. It was to run: ${command}`,
    };
  }
  if (STOPPED.has(finished.signal ?? 0)) {
    return { kind: "none" };
  }
  return finished.captured ? captured(finished, name, command) : nothing(finished, name, command);
}

function captured(finished: Finished, name: string, command: string): Outcome {
  if (finished.exit === 0) {
    return { kind: "passing", text: `${name}: costs captured` };
  }
  return {
    kind: "warning",
    text: `Costs of ${name} were captured, but it ${failed(finished)}. It ran as: ${command}`,
  };
}

function nothing(finished: Finished, name: string, command: string): Outcome {
  const reasons = finished.said.map((sentence) => sentence.replace(ALREADY_SAID, "")).join("; ");
  if (finished.exit === 0) {
    return { kind: "warning", text: `Nothing was captured of ${name}: ${reasons}.` };
  }
  return {
    kind: "error",
    text: `${name} ${failed(finished)}, and nothing was captured: ${reasons}. It ran as: ${command}. ${OTHER_PYTHON}`,
  };
}

function failed({ exit, signal }: Finished): string {
  return signal === null ? `failed with exit code ${exit}` : `was killed by signal ${signal}`;
}
