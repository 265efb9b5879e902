import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { type Launcher, launcherArguments } from "./launcher";

/** A cold start on a slow network disk takes seconds; one that has not answered by then never will. */
const LIMIT_MS = 30_000;
const LONGEST_ANSWER_BYTES = 1 << 20;

export interface WarplintVersion {
  readonly version: string;
  readonly origin: "bundled" | "environment";
  readonly path: string;
  readonly remark: string | null;
}

const run = promisify(execFile);

/** What would run, by the launcher's own word. */
export interface Report {
  readonly python: string;
  readonly executable: string;
  readonly warplint: WarplintVersion | null;
  readonly libcst: string | null;
  readonly pygls: string | null;
  readonly problem: string | null;
}

/** A report without a problem says all versions. */
export interface Working extends Report {
  readonly warplint: WarplintVersion;
  readonly pygls: string;
  readonly problem: null;
}

/** An interpreter with which Warplint does not run; the message says why. */
export class Unusable extends Error {}

/** Ask an interpreter what it would run. Rejects with `Unusable`. */
export async function probe(python: string, launcher: Launcher, limitMs = LIMIT_MS): Promise<Working> {
  const answer = await output(
    python,
    launcherArguments(launcher, "probe"),
    dirname(launcher.script),
    limitMs,
  );
  const report = parseReport(answer);
  if (report === undefined) {
    throw new Unusable(`${python} did not say what it is: ${answer.slice(0, 200) || "no answer"}`);
  }
  if (!isWorking(report)) {
    throw new Unusable(report.problem ?? `${python} has no Warplint.`);
  }
  return report;
}

export function parseReport(answer: string): Report | undefined {
  try {
    const value: unknown = JSON.parse(answer);
    return isReport(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) {
      return undefined;
    }
    throw error;
  }
}

function isReport(value: unknown): value is Report {
  return (
    typeof value === "object" &&
    value !== null &&
    "python" in value &&
    typeof value.python === "string" &&
    "problem" in value &&
    "warplint" in value
  );
}

function isWorking(report: Report): report is Working {
  return report.problem === null && report.warplint !== null && report.pygls !== null;
}

async function output(file: string, args: string[], cwd: string, limitMs: number): Promise<string> {
  const options = { cwd, timeout: limitMs, killSignal: "SIGKILL", maxBuffer: LONGEST_ANSWER_BYTES } as const;
  try {
    const { stdout } = await run(file, args, { ...options, windowsHide: true });
    return stdout.trim();
  } catch (error) {
    throw new Unusable(whyNot(file, error, limitMs));
  }
}

function whyNot(file: string, error: unknown, limitMs: number): string {
  if (!(error instanceof Error)) {
    return `${file} does not run: ${String(error)}.`;
  }
  if ("killed" in error && error.killed === true) {
    return `${file} did not answer within ${limitMs / 1000} s.`;
  }
  const said = "stderr" in error ? lastLine(String(error.stderr)) : undefined;
  return `${file} does not run: ${said ?? error.message}`;
}

function lastLine(text: string): string | undefined {
  return text.trim().split(/\r?\n/).at(-1) || undefined;
}
