import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

const NAMES = ["python3", "python"];
const SUFFIXES = process.platform === "win32" ? [".exe"] : [""];
const IN_ENVIRONMENT = process.platform === "win32" ? ["Scripts/python.exe", "python.exe"] : ["bin/python"];

/** Apple's `python3` is older than what is needed, or an offer to install developer tools. */
const PASSED_OVER = process.platform === "darwin" ? ["/usr/bin/python3"] : [];

/** The interpreters called `python3` and `python` in a PATH, in its order; relative entries are not followed. */
export function interpretersOnPath(path: string, names: readonly string[] = NAMES): string[] {
  const folders = path.split(delimiter).filter(isAbsolute);
  const files = names.flatMap((name) =>
    folders.flatMap((folder) => SUFFIXES.map((suffix) => join(folder, suffixed(name, suffix)))),
  );
  return [...new Set(files)].filter((file) => !PASSED_OVER.includes(file) && isExecutableFile(file));
}

/** The interpreter that a path means: the file itself, or the one of the environment in that folder. */
export function interpreterAt(path: string): string | undefined {
  return [path, ...IN_ENVIRONMENT.map((name) => join(path, name))].find(isExecutableFile);
}

function suffixed(name: string, suffix: string): string {
  return name.toLowerCase().endsWith(suffix) ? name : name + suffix;
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Whatever the reason, it is not one that can be run.
    return false;
  }
}
