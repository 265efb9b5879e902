import assert from "node:assert/strict";
import { story } from "../lib/story.ts";
import { until } from "../lib/wait.ts";
import { reads } from "../lib/workbench.ts";
import { Workspace } from "../lib/workspace.ts";

const FILE = "train.py";
const ACTIVATION = "x = F.relu(self.first_norm(self.first(x)))";
const COPY = "volume, mask = volume.to(device), mask.to(device)";

/** The example with what one run of it cost on an H200, whose figures `warplint show` gives too. */
const step = story("measured", {
  workspace: () => {
    const workspace = Workspace.example("unet3d");
    workspace.addH200Capture();
    return workspace;
  },
});

step("what a line cost on the GPU stands at its end", async ({ window, workspace }) => {
  await window.openFile(FILE);
  const line = workspace.lineOf(FILE, ACTIVATION);
  await window.goTo(line);
  const cost = await until("a cost", () => window.lineEnd(line), 60_000);
  assert.match(cost.text, /^16\.\d+ ms · 28%$/);
  assert.equal(cost.style, "normal");
});

step("a line that waits for the GPU says how often", async ({ window, workspace }) => {
  const line = workspace.lineOf(FILE, COPY);
  await window.goTo(line);
  const cost = await until("a cost", () => window.lineEnd(line));
  assert.match(cost.text, /ms · 2\.5% · 2 waits$/);
});

step("a function's costs are above it", async ({ window, workspace }) => {
  await window.goTo(workspace.lineOf(FILE, ACTIVATION));
  const lens = await until("a lens", async () =>
    (await window.lenses()).find((text) => / a step · /.test(text)),
  );
  await window.picture("costs");
  assert.match(lens, /^[\d.]+ ms a step · \d+(\.\d)?%/);
});

step("the hover has the table of a line's costs", async ({ window, workspace }) => {
  const line = workspace.lineOf(FILE, COPY);
  const hover = await window.hover(line, 20, "NVIDIA H200");
  const text = await reads(hover);
  assert.match(text, /a step, of 10 steps on NVIDIA H200/);
  assert.match(text, /GPU busy 88\d\.\d µs/);
  assert.match(text, /waits for the GPU 2/);
  assert.ok((await hover.locator("table td").count()) > 0);
  await window.picture("hover");
});

step(
  "only lines that matter have a text, as the setting says at once",
  async ({ host, window, workspace }) => {
    const line = workspace.lineOf(FILE, ACTIVATION);
    await window.goTo(line);
    const all = (await window.lineEnds()).length;
    host.changeSettings({ "warplint.costs.minimumShare": 20 });
    const fewer = await until("fewer texts", async () => {
      const ends = await window.lineEnds();
      return ends.length < all ? ends : undefined;
    });
    assert.ok(fewer.some((end) => end.line === line));
    host.changeSettings({ "warplint.costs.inline": false });
    await until("no texts", async () => (await window.lineEnds()).length === 0);
    host.changeSettings({});
    await until("all texts", async () => (await window.lineEnds()).length === all);
  },
);

step("a line moved away and back keeps its cost", async ({ window, workspace }) => {
  const line = workspace.lineOf(FILE, ACTIVATION);
  await window.goTo(line);
  const before = await window.lineEnd(line);
  await window.press("Alt+ArrowDown");
  await until(
    "the cost on the next line",
    async () => (await window.lineEnd(line + 1))?.text === before?.text,
  );
  await window.press("Alt+ArrowUp");
  await until("the cost back", async () => {
    const end = await window.lineEnd(line);
    return end?.text === before?.text && end?.style === "normal";
  });
});
