import assert from "node:assert/strict";
import { chmodSync, existsSync } from "node:fs";
import { standIn } from "../lib/extension.ts";
import { story } from "../lib/story.ts";
import { until } from "../lib/wait.ts";
import { Workspace } from "../lib/workspace.ts";

const FILE = "yellow.py";
const PYTHON = ".venv/bin/python";
const SPRUNG = "sprung";

/** A workspace whose own Python tells that it was run, and which asks in every way to have it run. */
function trap(): Workspace {
  const workspace = Workspace.programs(FILE);
  const python = workspace.path(PYTHON);
  workspace.write(
    ".venv/bin/python",
    `#!/bin/sh\ntouch '${workspace.path(SPRUNG)}'\nexec /usr/bin/python3 "$@"\n`,
  );
  chmodSync(python, 0o755);
  workspace.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
  workspace.write("warplint/__init__.py", `open(${JSON.stringify(workspace.path(SPRUNG))}, "w").close()\n`);
  workspace.write(
    ".vscode/settings.json",
    JSON.stringify({
      "warplint.server.interpreter": python,
      "warplint.program.interpreter": python,
      "warplint.importStrategy": "fromEnvironment",
    }),
  );
  return workspace;
}

const step = story("untrusted", {
  workspace: trap,
  trusted: false,
  environment: (workspace) => ({ PYTHON_STAND_IN: workspace.path(PYTHON) }),
  beside: [() => standIn("ms-python")],
});

step("an untrusted workspace is checked", async ({ window }) => {
  await window.openFile(FILE);
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  await window.page.locator('.statusbar-item[id="status.workspaceTrust"]').waitFor();
  assert.match(await window.languageStatus(), /\(bundled\) on Python 3\.\d+\.\d+ \(PATH\)/);
});

step("fixes are offered there too", async ({ window }) => {
  const rows = await window.codeActions(17, 20);
  await rows.filter({ hasText: "Ignore WL201 here" }).first().waitFor();
  await window.press("Escape");
});

step("it is not profiled, and the menu says why", async ({ window }) => {
  await window.page.locator(".editor-instance .view-line").first().click({ button: "right" });
  const entry = window.page.locator(".monaco-menu .action-item", {
    hasText: "Profile This File (needs a trusted workspace)",
  });
  await entry.waitFor();
  assert.match((await entry.getAttribute("class")) ?? "", /disabled/);
  await window.shot("menu");
  await window.press("Escape");
});

step("nor on command, which says why too", async ({ window }) => {
  await window.command("Warplint: Profile This File");
  await until("the reason", async () =>
    (await window.notifications()).includes("Profiling runs the program, so it needs a trusted workspace."),
  );
});

step("nothing of it was run", async ({ host, workspace }) => {
  assert.equal(existsSync(workspace.path(SPRUNG)), false);
  assert.deepEqual(
    host.processes().filter(({ command }) => command.some((word) => word.includes(".venv"))),
    [],
  );
});

step("once it is trusted, its own Python is used", async ({ window, workspace }) => {
  await window.command("Workspaces: Manage Workspace Trust");
  await window.page
    .locator(".workspace-trust-editor")
    .getByRole("button", { name: "Trust", exact: true })
    .click();
  await until("the workspace's Python to run", () => existsSync(workspace.path(SPRUNG)), 60_000);
});
