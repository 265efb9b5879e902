import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

/** A folder of a test's own, gone when that is over. */
export class Folder {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "warplint-unit-")));

  constructor(test: TestContext) {
    test.after(() => rmSync(this.path, { recursive: true, force: true }));
  }

  at(...names: string[]): string {
    return join(this.path, ...names);
  }

  write(name: string, text: string): string {
    const file = this.at(name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  /** A program: what it does is a shell script. */
  program(name: string, script = ""): string {
    const file = this.write(name, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
    return file;
  }

  link(name: string, target: string): string {
    const link = this.at(name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(target, link);
    return link;
  }
}
