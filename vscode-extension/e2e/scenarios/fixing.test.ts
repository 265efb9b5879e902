import assert from "node:assert/strict";
import { story } from "../lib/story.ts";
import { until } from "../lib/wait.ts";
import { reads } from "../lib/workbench.ts";
import { Workspace } from "../lib/workspace.ts";

const FILE = "train.py";
const FIX = "Build it on x.device";

const step = story("fixing", {
  workspace: () => Workspace.example("unet3d"),
  user: { "editor.codeActionsOnSave": { "source.fixAll.warplint": "explicit" } },
});

step("findings are underlined and listed", async ({ window, workspace }) => {
  await window.openFile(FILE);
  await window.goTo(workspace.lineOf(FILE, "z = torch.arange(depth)"));
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  const problems = await window.problems();
  const codes = problems.flatMap((row) => /WL\d+/.exec(row) ?? []);
  assert.deepEqual(codes.toSorted(), ["WL101", "WL101", "WL101", "WL201", "WL301"]);
});

step("the hover gives the reason", async ({ window, workspace }) => {
  await window.hide("panel");
  const line = workspace.lineOf(FILE, "z = torch.arange(depth)");
  const hover = await window.hover(line, 20, "WL101 host-tensor-in-hot-code");
  const text = await reads(hover);
  assert.match(text, /builds this tensor on the CPU/);
  assert.match(text, /Pass `?device=x\.device/);
});

step("the link of the code opens the rule's page", async ({ window }) => {
  await window.page.locator(".monaco-hover .code-link").first().click();
  await window.tab("WL101").waitFor();
  await window.preview().getByRole("heading", { name: "WL101 host-tensor-in-hot-code" }).waitFor();
});

step("a quick fix shows what it would change", async ({ window, workspace }) => {
  await window.command("View: Close Editor");
  await window.tab(FILE).waitFor();
  const line = workspace.lineOf(FILE, "z = torch.arange(depth)");
  const rows = await window.codeActions(line, 20);
  await rows.filter({ hasText: FIX }).first().waitFor();
  await window.shot("quick-fix-menu");
  await window.press("Control+Enter");
  await window.page.getByRole("button", { name: "Apply" }).waitFor();
  await until("the change", async () =>
    (await window.page.locator(".part.panel .monaco-list-row").allInnerTexts()).some((row) =>
      row.includes("device=x.device"),
    ),
  );
  await window.picture("fix");
  assert.match(await window.lineText(line), /arange\(depth\)\.to\(x\.device\)/);
});

step("and changes that, and nothing else", async ({ window, workspace }) => {
  const line = workspace.lineOf(FILE, "z = torch.arange(depth)");
  await window.page.getByRole("button", { name: "Apply" }).click();
  await until("the fix", async () =>
    (await window.lineText(line)).includes("z = torch.arange(depth, device=x.device)"),
  );
  assert.match(await window.lineText(line + 1), /y = torch\.arange\(height\)\.to\(x\.device\)/);
});

step("saving makes all safe fixes", async ({ window, workspace }) => {
  await window.command("View: Focus Active Editor Group");
  await window.press("Control+S");
  await until("the file on disk to be fixed", () =>
    workspace.read(FILE).includes("w = torch.arange(width, device=x.device)"),
  );
  const text = workspace.read(FILE);
  assert.match(text, /z = torch\.arange\(depth, device=x\.device\)\n/);
  assert.match(text, /y = torch\.arange\(height, device=x\.device\)\n/);
  assert.match(text, /running \+= loss\.item\(\)/, "what is not safe to change stays");
  const problems = await window.problems();
  assert.equal(problems.filter((row) => row.includes("WL101")).length, 0);
});
