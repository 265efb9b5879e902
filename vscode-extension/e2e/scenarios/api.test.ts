import assert from "node:assert/strict";
import { test } from "node:test";
import { runCases } from "../lib/api.ts";
import { packagedExtension, universalExtension } from "../lib/extension.ts";
import type { Edition } from "../lib/host.ts";
import { Workspace } from "../lib/workspace.ts";

/** The newest release with what its platform gets, and the oldest with what every other platform gets. */
const HOSTS: Record<
  string,
  { edition: Edition; extension: () => string; libcst: boolean; terminals: boolean }
> = {
  "current VS Code, linux-x64": {
    edition: "current",
    extension: packagedExtension,
    libcst: true,
    terminals: true,
  },
  "oldest VS Code, universal": {
    edition: "floor",
    extension: universalExtension,
    libcst: false,
    terminals: false,
  },
};

const yes = (value: boolean) => (value ? "yes" : "no");

for (const [title, { edition, extension, libcst, terminals }] of Object.entries(HOSTS)) {
  test(title, async (t) => {
    const workspace = Workspace.example("unet3d");
    t.after(() => workspace.remove());
    workspace.addH200Capture();
    workspace.write("quick.py", "raise SystemExit(7)\n");
    workspace.write(
      ".vscode/tasks.json",
      JSON.stringify({
        version: "2.0.0",
        tasks: [{ type: "warplint", file: "quick.py", label: "Profile it" }],
      }),
    );
    const { results, logs } = await runCases({
      edition,
      workspace,
      extensions: [extension()],
      machine: { "warplint.server.interpreter": workspace.addBarePython() },
      environment: { WARPLINT_API_LIBCST: yes(libcst), WARPLINT_API_TERMINALS: yes(terminals) },
    });
    assert.ok(results.length > 0, logs);
    for (const { name, error, figures } of results) {
      await t.test(name, (each) => {
        for (const [figure, value] of Object.entries(figures)) {
          each.diagnostic(`${figure}: ${value}`);
        }
        assert.equal(error, null, `${error}\n${logs}`);
      });
    }
  });
}
