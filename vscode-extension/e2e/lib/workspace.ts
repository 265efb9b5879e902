import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { CHECKOUT, E2E } from "./places.ts";

const RECORDED = path.join(CHECKOUT, "tests", "profile", "data");

/** A temporary folder to open in VS Code. */
export class Workspace {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), "warplint-workspace-"));

  /** A copy of an example of this checkout. */
  static example(name: string, folder = "."): Workspace {
    const workspace = new Workspace();
    cpSync(path.join(CHECKOUT, "examples", name), workspace.path(folder), {
      recursive: true,
      filter: (source) => !source.includes(".warplint"),
    });
    return workspace;
  }

  /** A folder of files of `programs/`. */
  static programs(...names: string[]): Workspace {
    const workspace = new Workspace();
    for (const name of names) {
      workspace.addProgram(name, name);
    }
    return workspace;
  }

  path(file: string): string {
    return path.join(this.folder, file);
  }

  write(file: string, text: string): void {
    mkdirSync(path.dirname(this.path(file)), { recursive: true });
    writeFileSync(this.path(file), text);
  }

  addProgram(name: string, file: string): void {
    this.write(file, readFileSync(path.join(E2E, "programs", name), "utf8"));
  }

  read(file: string): string {
    return readFileSync(this.path(file), "utf8");
  }

  /** The number, from 1, of the only line that has `code` in it. */
  lineOf(file: string, code: string): number {
    const found = this.read(file)
      .split("\n")
      .flatMap((text, index) => (text.includes(code) ? [index + 1] : []));
    const [line] = found;
    if (line === undefined || found.length > 1) {
      throw new Error(`${code} is on ${found.length} lines of ${file}`);
    }
    return line;
  }

  /** Put a capture here that was made on an H200, as a run does when it ends: of examples/unet3d, or of a program. */
  addH200Capture(name: "unet3d" | "tagger" = "unet3d"): void {
    const captures = this.path(".warplint");
    mkdirSync(captures, { recursive: true });
    const archive = path.join(RECORDED, `h200-${name}.tar.xz`);
    execFileSync("tar", ["--extract", "--xz", "--file", archive, "--directory", captures]);
  }

  /** A Python of this machine, in an environment without any packages. */
  addBarePython(): string {
    execFileSync("python3", ["-m", "venv", "--without-pip", this.path(".bare")]);
    return this.path(".bare/bin/python");
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
