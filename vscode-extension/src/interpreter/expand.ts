import { isAbsolute, join } from "node:path";

export interface Surroundings {
  readonly workspaceFolder: string | undefined;
  readonly userHome: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const VARIABLE = /\$\{([^}]*)\}/g;
const HOME = /^~(?=$|[\\/])/;

/** A path that cannot be made of what the setting says. */
export class UnusablePath extends Error {}

/**
 * The path that a setting means: variables and a leading `~` replaced, relative to the workspace folder.
 * A bare name such as `python3.12` is left alone, to be looked for on the PATH.
 */
export function expandPath(written: unknown, around: Surroundings): string {
  if (typeof written !== "string") {
    throw new UnusablePath("a path has to be a string");
  }
  const replaced = written.trim().replace(VARIABLE, (whole, name: string) => valueIn(name, whole, around));
  const path = replaced.replace(HOME, () => around.userHome);
  if (isAbsolute(path) || isBareName(path)) {
    return path;
  }
  if (around.workspaceFolder === undefined) {
    throw new UnusablePath(`${path} is relative, and no folder is open that it could be relative to`);
  }
  return join(around.workspaceFolder, path);
}

export function isBareName(path: string): boolean {
  return /^[^\\/]+$/.test(path) && path !== "." && path !== "..";
}

function valueIn(name: string, whole: string, around: Surroundings): string {
  const value = name.startsWith("env:") ? around.environment[name.slice("env:".length)] : named(name, around);
  if (value === undefined) {
    throw new UnusablePath(`${whole} has no value here`);
  }
  return value;
}

function named(name: string, around: Surroundings): string | undefined {
  switch (name) {
    case "workspaceFolder":
      return around.workspaceFolder;
    case "userHome":
      return around.userHome;
    default:
      return undefined;
  }
}
