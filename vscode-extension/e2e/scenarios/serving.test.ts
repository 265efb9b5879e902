import assert from "node:assert/strict";
import { standIn } from "../lib/extension.ts";
import type { Host } from "../lib/host.ts";
import { PROGRAM_PYTHON } from "../lib/places.ts";
import { story } from "../lib/story.ts";
import { stays, until } from "../lib/wait.ts";
import { reads, type Workbench } from "../lib/workbench.ts";
import { Workspace } from "../lib/workspace.ts";

const FILE = "yellow.py";
const PYTHON = { "warplint.server.interpreter": "/usr/bin/python3" };
const LIST_PAGE_PX = 400;
const START_MS = 60_000;

const step = story("serving", {
  workspace: () => Workspace.programs(FILE),
  beside: [() => standIn("ms-python")],
  environment: () => ({ PYTHON_STAND_IN: "/usr/bin/python3" }),
});

/** The server, once there is one, and no other than that. */
async function server(host: Host, other?: number) {
  const running = await until(
    "one server",
    () => {
      const all = host.servers();
      return all.length === 1 && all[0]?.id !== other ? all[0] : undefined;
    },
    START_MS,
  );
  return { id: running.id, python: running.command[0] ?? "" };
}

/** Whether the running server answers: what is typed changes what it says. */
async function answers(window: Workbench): Promise<void> {
  await window.squiggles().first().waitFor({ timeout: START_MS });
  await window.goTo(17, "            print(loss.item())".length + 1);
  await window.page.keyboard.type("  # warplint: ignore");
  await window.squiggles().first().waitFor({ state: "detached", timeout: START_MS });
  await until("the text as it was", async () => {
    await window.press("Control+Z");
    return (await window.lineText(17)).endsWith("item())");
  });
  await window.squiggles().first().waitFor({ timeout: START_MS });
}

step("the language status says what runs, and on what", async ({ host, window }) => {
  await window.openFile(FILE);
  await window.squiggles().first().waitFor({ timeout: START_MS });
  assert.equal((await server(host)).python, "/usr/bin/python3");
  assert.match(
    await window.languageStatus(),
    /Warplint \d+\.\d+\.\d+ \(bundled\) on Python 3\.\d+\.\d+ \(Python extension\)/,
  );
});

step("VS Code says how long activation took", async ({ window }) => {
  await window.command("Developer: Show Running Extensions");
  const rows = window.page.locator(".monaco-list-row", { hasText: "Activation:" });
  const row = rows.filter({ has: window.page.getByText("Warplint", { exact: true }) });
  await rows.first().hover();
  const took = await until("the time", async () => {
    const time = /Activation: (\d+ ?ms)/.exec(await reads(row))?.[1];
    if (time === undefined) {
      await window.page.mouse.wheel(0, LIST_PAGE_PX); // the slowest come first
    }
    return time;
  });
  await window.press("Escape");
  await row.waitFor({ state: "detached" });
  return `activation took ${took}`;
});

step("the server is restarted on command", async ({ host, window }) => {
  const before = await server(host);
  await window.command("Warplint: Restart Server");
  await server(host, before.id);
  await answers(window);
  assert.deepEqual(await window.notifications(), []);
});

step("one that is killed comes back, and that is said once", async ({ host, window }) => {
  for (const _ of [1, 2]) {
    const before = await server(host);
    process.kill(before.id, "SIGKILL");
    await server(host, before.id);
  }
  await answers(window);
  const said = await window.takeNotifications();
  assert.equal(said.length, 1);
  assert.match(
    said[0] ?? "",
    /The Warplint server stopped \(signal SIGKILL\)\. It is started again by itself\./,
  );
});

step("another selected environment is taken over", async ({ host, window }) => {
  const before = await server(host);
  await window.command("Python: Select Interpreter");
  await window.page.locator(".quick-input-widget input.input").fill(PROGRAM_PYTHON);
  await window.press("Enter");
  assert.equal((await server(host, before.id)).python, PROGRAM_PYTHON);
  await answers(window);
});

step(
  "a setting comes before it, and one that is broken is said without a pop-up",
  async ({ host, window }) => {
    const before = await server(host);
    host.changeSettings({ "warplint.server.interpreter": "/nowhere/bin/python" });
    await until("the remedy", async () => {
      const status = await window.languageStatus();
      return /another Python is used/.test(status) && /\/nowhere\/bin\/python is not there/.test(status);
    });
    await stays("no pop-up", async () => (await window.notifications()).length === 0, 2000);
    assert.equal((await server(host)).id, before.id, "the server that worked goes on");
  },
);

step("mended, it is used", async ({ host, window }) => {
  const before = await server(host);
  host.changeSettings(PYTHON);
  assert.equal((await server(host, before.id)).python, "/usr/bin/python3");
  await answers(window);
  await until("the remedy to go", async () =>
    /Python 3\.\d+\.\d+ \(setting\)/.test(await window.languageStatus()),
  );
});

step("checking is switched off and on without a restart", async ({ host, window }) => {
  const before = await server(host);
  host.changeSettings({ ...PYTHON, "warplint.enable": false });
  await window.squiggles().first().waitFor({ state: "detached" });
  await window.score.waitFor({ state: "hidden" });
  host.changeSettings(PYTHON);
  await window.squiggles().first().waitFor();
  await window.score.waitFor();
  assert.equal((await server(host)).id, before.id);
});

step("versions and logs can be shown", async ({ window }) => {
  await window.command("Warplint: Show Versions");
  await until("the versions", async () => {
    const text = [...(await window.visibleLines()).values()].join("\n");
    return (
      /^Extension: +\d+\.\d+\.\d+$/m.test(text) && /^pygls: +\d/m.test(text) && /^libcst: +\d/m.test(text)
    );
  });
  await window.command("Warplint: Show Logs");
  await window.page.locator(".part.panel .output-view").waitFor();
  await until("the log", async () =>
    (await window.page.locator(".part.panel .view-line").allInnerTexts()).some((text) =>
      text.includes("Starting"),
    ),
  );
});

step("the server leaves with the window's extension host", async ({ host }) => {
  const before = await server(host);
  for (const { id, command } of host.processes()) {
    if (command.includes("--type=extensionHost")) {
      process.kill(id, "SIGKILL");
    }
  }
  await until("the server to leave", () => !host.servers().some(({ id }) => id === before.id), 10_000);
  await server(host, before.id);
});
