export type ImportStrategy = "fromEnvironment" | "useBundled";

/** How a Python is told to run Warplint: `PYTHON …arguments COMMAND…`. */
export interface Launcher {
  readonly script: string;
  readonly strategy: ImportStrategy;
  /** Keep the environment's packages out: its .pth files can name folders of the workspace. */
  readonly isolated: boolean;
}

/** `-E`: PYTHONPATH and the like are for the user's programs, and must not reach the server. */
export function launcherArguments(launcher: Launcher, ...command: readonly string[]): string[] {
  const isolation = launcher.isolated ? ["-S"] : [];
  return ["-E", ...isolation, launcher.script, "--import-strategy", launcher.strategy, ...command];
}
