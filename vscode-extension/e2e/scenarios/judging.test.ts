import assert from "node:assert/strict";
import { story } from "../lib/story.ts";
import { until } from "../lib/wait.ts";
import { reads, type Workbench } from "../lib/workbench.ts";
import { Workspace } from "../lib/workspace.ts";

const FILE = "tagger.py";
const ZEROED = "optimizer.zero_grad(set_to_none=False)";
const READ = "correct += (scores[sentence].argmax(-1) == tags[sentence]).sum().item()";

/** A program before and after a run on an H200: here a run has only a CPU, of which nothing is concluded. */
const step = story("judging", {
  workspace: () => {
    const workspace = Workspace.programs(FILE);
    workspace.write("pyproject.toml", "[tool.warplint]\npreview = true\n");
    return workspace;
  },
});

/** The lines that problems are on, from the top of the view. */
async function lines(window: Workbench): Promise<number[]> {
  return (await window.problems()).flatMap((row) => {
    const line = /\[Ln (\d+), Col \d+\]/.exec(row)?.[1];
    return line === undefined ? [] : [Number(line)];
  });
}

const inOrder = (numbers: readonly number[]) =>
  numbers.every((each, index) => each >= (numbers[index - 1] ?? 0));

step(
  "before a run, problems stand by severity, which is a guess, and by line",
  async ({ window, workspace }) => {
    await window.openFile(FILE);
    await window.squiggles().first().waitFor({ timeout: 60_000 });
    const before = await lines(window);
    assert.equal(before.length, 5, (await window.problems()).join("\n"));
    assert.ok(inOrder(before), before.join());
    assert.ok(before.includes(workspace.lineOf(FILE, ZEROED)));
  },
);

step("after it they are listed by what they cost", async ({ window, workspace }) => {
  workspace.addH200Capture("tagger");
  await until(
    "a first problem that says what it costs",
    async () => /Costs/.test((await window.problems())[1] ?? ""),
    60_000,
  );
  const problems = await window.problems();
  // What work takes is no loss: such a problem does not stand by it.
  const shares = problems.flatMap((row) => {
    const [, cost, unit] = /Costs ([\d.]+) (µs|ms) of a 19\.4 ms step/.exec(row) ?? [];
    return cost === undefined ? [] : [Number(cost) * (unit === "ms" ? 1000 : 1)];
  });
  assert.deepEqual(
    shares,
    shares.toSorted((a, b) => b - a),
    problems.join("\n"),
  );
  assert.equal((await lines(window))[0], workspace.lineOf(FILE, "loss.backward()"));
  assert.ok(!inOrder(await lines(window)));
  await window.picture("judged");
});

step("what the run refuted is a problem no more, and a hint", async ({ window, workspace }) => {
  const line = workspace.lineOf(FILE, ZEROED);
  assert.ok(!(await lines(window)).includes(line));
  await window.hide("panel");
  await window.goTo(line);
  await window.squiggles("hint").first().waitFor();
  const hover = await window.hover(line, 12, "WL505 zeroed-gradients (refuted)");
  const text = await reads(hover);
  assert.match(
    text,
    /Costs nothing here: it ran in the captured steps, and it launches only 2 kernels a step/,
  );
});

step("the score counts what was measured, and its parts add up to it", async ({ window }) => {
  await window.score.hover();
  const tooltip = window.page.locator(".monaco-hover", { hasText: "GPU-friendliness:" });
  await tooltip.waitFor();
  const text = await reads(tooltip);
  assert.match(text, /WL505 zeroed-gradients, which costs nothing here as measured line \d+ \+0/);
  assert.match(text, /WL201 host-read-in-hot-loop, likely, 2 places, loses 4\.2% of a step line \d+ −8/);
  const points = await tooltip.locator("table td:last-child").allInnerTexts();
  const sum = points.reduce((total, each) => total + Number(each.replace("−", "-")), 0);
  assert.equal(await window.scoreText(), `GPU ${sum}`);
  await window.press("Escape");
});

step("an edited line is judged by its text again", async ({ window, workspace }) => {
  const line = workspace.lineOf(FILE, READ);
  await window.goTo(line, `            ${READ}`.length + 1);
  await window.page.keyboard.type(" * 2");
  await until("the cost to be gone from the problem", async () =>
    (await window.problems()).some((row) => row.includes(`[Ln ${line},`) && !row.includes("Costs")),
  );
});
