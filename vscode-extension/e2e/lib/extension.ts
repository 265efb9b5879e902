import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { E2E } from "./places.ts";

/** The packaged extension under test for this platform; `run` makes it where none is given. */
export function packagedExtension(): string {
  return named("WARPLINT_VSIX");
}

/** The one for platforms without a package of their own, which leaves libcst to the environment. */
export function universalExtension(): string {
  return named("WARPLINT_UNIVERSAL_VSIX");
}

function named(variable: string): string {
  const file = process.env[variable];
  if (file === undefined || !existsSync(file)) {
    throw new Error(`${variable} must name a packaged extension`);
  }
  return file;
}

/** A stand-in for an extension that others make, packaged. */
export function standIn(name: string): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "warplint-stand-in-"));
  cpSync(path.join(E2E, "stubs", name), path.join(folder, "extension"), { recursive: true });
  const file = path.join(folder, `${name}.vsix`);
  execFileSync("python3", ["-m", "zipfile", "--create", file, "extension"], { cwd: folder });
  return file;
}
