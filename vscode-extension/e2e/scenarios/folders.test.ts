import assert from "node:assert/strict";
import { story } from "../lib/story.ts";
import { until } from "../lib/wait.ts";
import { Workspace } from "../lib/workspace.ts";

const step = story("folders", {
  workspace: () => {
    const workspace = Workspace.programs();
    workspace.addProgram("yellow.py", "first/loop.py");
    workspace.addProgram("red.py", "second/noise.py");
    workspace.write("second/pyproject.toml", '[tool.warplint]\nignore = ["WL201"]\n');
    workspace.write("third/loop3.py", workspace.read("first/loop.py"));
    workspace.write("third/.vscode/settings.json", JSON.stringify({ "warplint.enable": false }));
    const folders = ["first", "second", "third"].map((name) => ({ path: name }));
    workspace.write("all.code-workspace", JSON.stringify({ folders }));
    return workspace;
  },
  open: "all.code-workspace",
});

const codes = (problems: string[]) => problems.flatMap((row) => /WL\d+/.exec(row) ?? []).toSorted();

step("every folder is checked by its own configuration", async ({ window }) => {
  await window.openFile("loop.py");
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  assert.deepEqual(codes(await window.problems()), ["WL201"]);
  await window.openFile("noise.py");
  await until("the finding of the second folder", async () =>
    codes(await window.problems()).includes("WL101"),
  );
  assert.deepEqual(codes(await window.problems()), ["WL101", "WL201"]);
});

step("and by its own settings", async ({ window }) => {
  await window.openFile("loop3.py");
  await window.openFile("loop.py");
  assert.deepEqual(codes(await window.problems()), ["WL101", "WL201"]);
});

step("by one server for all", async ({ host }) => {
  const servers = host
    .processes()
    .filter(({ command }) => command.at(-1) === "server" && /python/.test(command[0] ?? ""));
  assert.equal(servers.length, 1);
});
