import { isDeepStrictEqual } from "node:util";
import type { Interpreter } from "../interpreter";
import { SOURCE_NAMES } from "../interpreter/candidate";
import { launcherArguments } from "../interpreter/launcher";

/** Which server runs, and on what. It is started again when, and only when, this changes. */
export type Resolution = Interpreter;

/** Whether the same code would run on the same Python. Who proposed that makes no difference. */
export function sameServer(one: Resolution | undefined, other: Resolution | undefined): boolean {
  return isDeepStrictEqual(one && { ...one, source: undefined }, other && { ...other, source: undefined });
}

export function serverArguments({ launcher }: Resolution): string[] {
  return launcherArguments(launcher, "server");
}

/** For example "Warplint 0.1.0 (bundled) on Python 3.11.7 (Python extension)". */
export function inWords({ report, source }: Resolution): string {
  const { version, origin } = report.warplint;
  return `Warplint ${version} (${origin}) on Python ${report.python} (${SOURCE_NAMES[source]})`;
}
