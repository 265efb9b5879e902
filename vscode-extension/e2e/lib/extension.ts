import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { E2E } from "./places.ts";

/** The packaged extension under test; `run` makes one where none is given. */
export function packagedExtension(): string {
  const file = process.env["WARPLINT_VSIX"];
  if (file === undefined || !existsSync(file)) {
    throw new Error("WARPLINT_VSIX must name the packaged extension");
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
