import assert from "node:assert/strict";
import { universalExtension } from "../lib/extension.ts";
import { story } from "../lib/story.ts";
import { until } from "../lib/wait.ts";
import { Workspace } from "../lib/workspace.ts";

/** Of three folders two are checked; the server runs on a Python without any packages. */
const step = story("folders", {
  workspace: () => {
    const workspace = Workspace.example("unet3d", "first");
    workspace.addProgram("red.py", "second/mixing.py");
    workspace.write("second/pyproject.toml", '[tool.warplint]\nignore = ["WL201"]\n');
    workspace.addProgram("red.py", "third/unchecked.py");
    workspace.write("third/.vscode/settings.json", JSON.stringify({ "warplint.enable": false }));
    const folders = ["first", "second", "third"].map((name) => ({ path: name }));
    workspace.write("all.code-workspace", JSON.stringify({ folders }));
    return workspace;
  },
  open: "all.code-workspace",
  extension: universalExtension,
  machine: (workspace) => ({ "warplint.server.interpreter": workspace.addBarePython() }),
});

const codes = (problems: string[]) => problems.flatMap((row) => /WL\d+/.exec(row) ?? []).toSorted();

step("every folder is checked by its own configuration", async ({ window }) => {
  await window.openFile("mixing.py");
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  assert.deepEqual(codes(await window.problems()), ["WL102"]);
});

step("and by its own settings", async ({ window }) => {
  await window.openFile("unchecked.py");
  await window.openFile("train.py");
  const found = await until("the findings of the first folder", async () => {
    const all = codes(await window.problems());
    return all.includes("WL301") ? all : undefined;
  });
  assert.deepEqual(found, ["WL101", "WL101", "WL101", "WL102", "WL201", "WL301"]);
});

step("by one server for all", ({ host }) => {
  assert.equal(host.servers().length, 1);
});

step("an action that cannot run here is shown disabled, with the remedy", async ({ window, workspace }) => {
  await window.hide("panel");
  await window.goTo(workspace.lineOf("first/train.py", "z = torch.arange(depth)"));
  await window.command("Source Action...");
  const all = window.page.locator(".action-widget .monaco-list-row", {
    hasText: "Apply all safe fixes of Warplint",
  });
  await all.waitFor();
  assert.match((await all.getAttribute("class")) ?? "", /option-disabled/);
  await window.press("Escape");
  await window.command("Fix All");
  await window.page.locator(".monaco-editor-overlaymessage", { hasText: "libcst" }).waitFor();
});
