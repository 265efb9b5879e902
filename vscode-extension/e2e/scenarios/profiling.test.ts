import assert from "node:assert/strict";
import { PROGRAM_PYTHON } from "../lib/places.ts";
import { type Stage, story } from "../lib/story.ts";
import { stays, until } from "../lib/wait.ts";
import { type LineEnd, reads } from "../lib/workbench.ts";
import { Workspace } from "../lib/workspace.ts";

const FILE = "steady.py";
const PROFILE = "Warplint: Profile This File";
const COST = /^[\d.]+ (?:µs|ms|s) CPU · \d+(?:\.\d)?%$/;
const SETTINGS = {
  "warplint.program.interpreter": PROGRAM_PYTHON,
  "warplint.profile.arguments": ["60"],
  "warplint.profile.steps": 4,
};
const RUN_MS = 120_000;

const step = story("profiling", {
  workspace: () => Workspace.programs(FILE),
  machine: () => SETTINGS,
});

const notification = ({ window }: Stage) =>
  window.page.locator(".notifications-toasts .notification-list-item", { hasText: `Profiling ${FILE}` });

const program = ({ host }: Stage) =>
  host.processes().filter(({ command }) => command.includes(PROGRAM_PYTHON));

/** What stands at the ends of the lines, by what stands before it. */
async function costs({ window }: Stage): Promise<Map<string, LineEnd>> {
  const lines = await window.visibleLines();
  return new Map((await window.lineEnds()).map((end) => [(lines.get(end.line) ?? "").trim(), end]));
}

step("a profile runs in a task that is seen", async (stage) => {
  const { window, workspace } = stage;
  await window.openFile(FILE);
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  await window.goTo(workspace.lineOf(FILE, "loss.backward()"));
  await window.command(PROFILE);
  await notification(stage).waitFor({ timeout: 60_000 });
  await window.page.locator(".part.panel .terminal-wrapper").first().waitFor();
  await until(
    "the steps to be captured",
    async () => /capturing 4 steps|captured/.test(await reads(notification(stage))),
    RUN_MS,
  );
  await window.picture("profile");
});

step("costs appear by themselves, at line ends and above functions", async (stage) => {
  const { window } = stage;
  await until("costs", async () => (await window.lineEnds()).length > 0, RUN_MS);
  const measured = await costs(stage);
  const backward = measured.get("loss.backward()");
  assert.match(backward?.text ?? "nothing", COST);
  for (const { text } of measured.values()) {
    assert.match(text, COST);
  }
  await until("a lens", async () =>
    (await window.lenses()).some((lens) => /^[\d.]+ m?s CPU a step · \d+(?:\.\d)?%$/.test(lens)),
  );
});

step("the task ends with the program, and the terminal keeps what it printed", async (stage) => {
  const { window } = stage;
  await notification(stage).waitFor({ state: "detached", timeout: RUN_MS });
  assert.deepEqual(program(stage), []);
  await until("the program's output", async () => (await window.terminalText()).includes("mean loss"));
  assert.deepEqual(await window.notifications(), []);
});

step("costs move with their lines", async (stage) => {
  const { window, workspace } = stage;
  await window.hide("panel");
  const line = workspace.lineOf(FILE, "loss.backward()");
  await window.goTo(line - 1);
  const before = await costs(stage);
  const ofBackward = before.get("loss.backward()");
  assert.equal(ofBackward?.line, line);
  await window.press("Home", "Home", "Enter");
  await until("the cost one line further down", async () => {
    const now = (await costs(stage)).get("loss.backward()");
    return now?.line === line + 1 && now.text === ofBackward.text && now.style === "normal";
  });
});

step("an edited line's cost is stale, and the others' are not", async (stage) => {
  const { window, workspace } = stage;
  const line = workspace.lineOf(FILE, "loss.backward()") + 1;
  const fresh = await window.lineEnd(line);
  await window.goTo(line, "        loss.backward(".length + 1);
  await window.page.keyboard.type("retain_graph=False");
  const stale = await until("the stale cost", async () => {
    const end = await window.lineEnd(line);
    return end?.style === "italic" ? end : undefined;
  });
  assert.equal(stale.text, fresh?.text);
  assert.notEqual(stale.color, fresh?.color);
  const others = (await window.lineEnds()).filter((end) => end.line !== line);
  assert.ok(others.length > 0);
  for (const other of others) {
    assert.equal(other.style, "normal");
  }
});

step("undone, it is fresh again", async (stage) => {
  const { window, workspace } = stage;
  const line = workspace.lineOf(FILE, "loss.backward()");
  await until("the text as it was", async () => {
    await window.press("Control+Z");
    return (await window.lineText(line)).trim() === "loss.backward()";
  });
  await until("the fresh cost", async () => {
    const end = await window.lineEnd(line);
    return end?.style === "normal";
  });
});

step("code lenses go when they are switched off", async ({ host, window }) => {
  host.changeSettings({ ...SETTINGS, "warplint.costs.codeLens": false });
  await until("no lenses", async () => (await window.lenses()).length === 0);
  assert.ok((await window.lineEnds()).length > 0, "the line ends stay");
});

step("a run that is cancelled is gone, and the costs of the last stay", async (stage) => {
  const { host, window } = stage;
  const before = await window.lineEnds();
  host.changeSettings({ ...SETTINGS, "warplint.profile.arguments": ["100000"] });
  await window.command(PROFILE);
  await notification(stage).waitFor({ timeout: 60_000 });
  await until("the program to run", () => program(stage).length > 0, RUN_MS);
  await window.shot("before-cancel");
  await notification(stage).hover();
  await notification(stage).getByRole("button", { name: "Cancel" }).click();
  await until("the program to end", () => program(stage).length === 0);
  await notification(stage).waitFor({ state: "detached" });
  await window.hide("panel");
  await stays("no complaint", async () => (await window.notifications()).length === 0, 2000);
  assert.deepEqual(await window.lineEnds(), before);
});
