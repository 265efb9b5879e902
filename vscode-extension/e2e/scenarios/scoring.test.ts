import assert from "node:assert/strict";
import { story } from "../lib/story.ts";
import { until } from "../lib/wait.ts";
import { reads, type Workbench } from "../lib/workbench.ts";
import { Workspace } from "../lib/workspace.ts";

type Band = "red" | "yellow" | "green";

const BANDS: Record<Band, { from: number; to: number; kind: RegExp }> = {
  red: { from: 0, to: 30, kind: /error-kind/ },
  yellow: { from: 31, to: 70, kind: /warning-kind/ },
  green: { from: 71, to: 100, kind: /^((?!error-kind|warning-kind).)*$/ },
};

const step = story("scoring", {
  workspace: () => Workspace.programs("red.py", "yellow.py", "green.py", "no_gpu.py"),
});

/** The score shown, once it is one of this band. */
async function scoreIn(window: Workbench, band: Band): Promise<number> {
  const { from, to, kind } = BANDS[band];
  const score = await until(
    `a ${band} score`,
    async () => {
      const value = Number(/^GPU (\d+)$/.exec(await window.scoreText())?.[1]);
      return from <= value && value <= to ? { value } : undefined;
    },
    60_000,
  );
  assert.match((await window.score.getAttribute("class")) ?? "", kind);
  return score.value;
}

step("a file that is known to wait is red", async ({ window }) => {
  await window.openFile("red.py");
  assert.equal(await scoreIn(window, "red"), 30);
});

step("one with a lesser finding is yellow", async ({ window }) => {
  await window.openFile("yellow.py");
  await scoreIn(window, "yellow");
});

step("one without is green", async ({ window }) => {
  await window.openFile("green.py");
  await scoreIn(window, "green");
});

step("one without GPU code has no score", async ({ window }) => {
  await window.openFile("no_gpu.py");
  await window.score.waitFor({ state: "hidden" });
});

step("the score's parts are in its tooltip", async ({ window }) => {
  await window.openFile("red.py");
  await scoreIn(window, "red");
  await window.score.hover();
  const tooltip = window.page.locator(".monaco-hover", { hasText: "GPU-friendliness: 30 of 100" });
  await tooltip.waitFor();
  const text = await reads(tooltip);
  assert.match(text, /WL102 host-index, certain line 12 −30/);
  assert.match(text, /loader with workers line 6 \+\d/);
});

step("and the keyboard leads to them too", async ({ window }) => {
  await window.press("Escape");
  await window.score.locator("a").click();
  const rows = window.page.locator(".quick-input-list .monaco-list-row");
  await rows.filter({ hasText: "WL102" }).first().click();
  await until("the line of that part", async () =>
    (await window.statusText("status.editor.selection")).startsWith("Ln 12, Col 1"),
  );
});

step("it follows the text while it is typed", async ({ window }) => {
  await window.goTo(12, "            mixed = images.lerp(images[torch.randperm(len(images)".length + 1);
  await window.page.keyboard.type(", device=images.device");
  assert.match(await window.lineText(12), /torch\.randperm\(len\(images\), device=images\.device\)/);
  await scoreIn(window, "yellow");
});
