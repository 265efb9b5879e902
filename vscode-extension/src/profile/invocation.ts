import { parse } from "node:path";
import { type Launcher, launcherArguments } from "../interpreter/launcher";

/** A program to be profiled, and who runs it. */
export interface Invocation {
  /** The Python that runs Warplint. */
  readonly warplintPython: string;
  readonly launcher: Launcher;
  /** The Python that runs the program. */
  readonly programPython: string;
  /** Where the stages are told. */
  readonly progressFile: string;
  readonly steps: number;
  readonly file: string;
  readonly arguments: readonly string[];
}

const PROGRESS = "--progress";

/** The program and arguments of the process that profiles. */
export function processOf(invocation: Invocation): { readonly process: string; readonly args: string[] } {
  const { warplintPython, launcher, programPython, progressFile, steps, file } = invocation;
  const options = [PROGRESS, progressFile, "--steps", String(steps), "--name", parse(file).name];
  const command = [programPython, file, ...invocation.arguments];
  return { process: warplintPython, args: launcherArguments(launcher, "run", ...options, "--", ...command) };
}

/** What can be read off the arguments of a process that profiles. */
export interface Profiling {
  readonly progressFile: string;
  /** The command that is profiled: its Python, the file, and the file's arguments. */
  readonly command: readonly string[];
}

export function profilingOf(args: readonly string[]): Profiling | undefined {
  const progressFile = args[args.indexOf(PROGRESS) + 1];
  const separator = args.indexOf("--");
  return args.includes(PROGRESS) && separator >= 0 && progressFile !== undefined
    ? { progressFile, command: args.slice(separator + 1) }
    : undefined;
}

/** A command as one would type it, near enough to be read. */
export function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./\\~-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}
