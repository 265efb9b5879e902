import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createReadStream } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { after, before, test } from "node:test";
import { launch } from "../lib/browser.ts";
import { E2E, PROGRAM_PYTHON } from "../lib/places.ts";
import { openProfile } from "../lib/profile_viewer.ts";
import { until } from "../lib/wait.ts";
import { Workspace } from "../lib/workspace.ts";

const CAPTURE = ".warplint/h200-unet3d";
/** Where the program lay that was captured. */
const PROGRAM = "/app/train.py";
const SPEEDSCOPE = path.join(E2E, "node_modules/speedscope/dist/release");
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

interface Cost {
  readonly file: string;
  readonly line: number;
  readonly busy_us: number;
  readonly idle_us: Readonly<Record<string, number>>;
}

/** What a line took of the captured time, in milliseconds. */
const takenMs = (cost: Cost) =>
  (cost.busy_us + Object.values(cost.idle_us).reduce((sum, us) => sum + us, 0)) / 1000;

let workspace: Workspace;
let costs: Cost[];
let wallUs: number;

function written(format: string, file: string): string {
  const words = ["-m", "warplint", "export", CAPTURE, "--format", format, "-o", file];
  execFileSync(PROGRAM_PYTHON, words, { cwd: workspace.folder });
  return workspace.path(file);
}

before(() => {
  workspace = Workspace.example("unet3d");
  workspace.addH200Capture();
  written("json", "costs.json");
  const shown = JSON.parse(workspace.read("costs.json")) as { lines: Cost[]; totals: { wall_us: number } };
  costs = shown.lines;
  wallUs = shown.totals.wall_us;
});

after(() => workspace.remove());

test("VS Code's viewer of profiles shows each line's cost above it", async () => {
  const lensesOf = await openProfile(written("cpuprofile", "train.cpuprofile"));
  const lenses = new Map(lensesOf(PROGRAM).map((lens) => [lens.line, lens]));
  assert.ok(costs.length > 20);
  for (const cost of costs) {
    // The viewer shows hundredths of a millisecond, of whole microseconds.
    const shown = lenses.get(cost.line)?.selfMs ?? 0;
    assert.ok(Math.abs(shown - takenMs(cost)) < 0.0065, `line ${cost.line}: ${shown} ms`);
  }
  // No other line has any.
  const total = [...lenses.values()].reduce((sum, lens) => sum + lens.selfMs, 0);
  const whole = costs.reduce((sum, cost) => sum + takenMs(cost), 0);
  assert.ok(Math.abs(total - whole) < 0.0065 * costs.length);
});

/** speedscope's own page, with `document` beside it. */
async function served(document: string): Promise<Server> {
  const server = createServer((request, response) => {
    const name = path.basename(new URL(request.url ?? "/", "http://localhost").pathname);
    const file = name === path.basename(document) ? document : path.join(SPEEDSCOPE, name);
    response.setHeader("content-type", TYPES[path.extname(file)] ?? "application/octet-stream");
    createReadStream(file)
      .on("error", () => response.writeHead(404).end())
      .pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

test("speedscope opens the costs and adds up what the GPU waited for", async (t) => {
  const document = written("speedscope", "train.speedscope.json");
  const server = await served(document);
  t.after(() => server.close());
  const browser = await launch();
  t.after(() => browser.close());
  const page = await browser.newPage();
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const profile = encodeURIComponent(`${address}/${path.basename(document)}`);
  await page.goto(`${address}/index.html#profileURL=${profile}`);
  await until(
    "the profile",
    async () =>
      await page
        .getByText(/^GPU time by line/)
        .first()
        .isVisible(),
    30_000,
  );
  await page.getByText("Sandwich").click();
  const rows = page.locator("table tr");
  const cause = "GPU idle: data";
  const found = await until("the causes", async () => {
    const texts = await rows.allInnerTexts();
    return texts.some((text) => text.includes(cause)) ? texts : undefined;
  });
  const shown = found.find((text) => text.includes(cause));
  const waitedMs = costs.reduce((sum, cost) => sum + (cost.idle_us.data ?? 0), 0) / 1000;
  assert.ok(shown?.startsWith(`${waitedMs.toFixed(2)}ms`), `${waitedMs}: ${shown}`);
  // Beside the costs there is a thread's timeline.
  assert.ok(found.some((text) => text.includes(`${(wallUs / 1000).toFixed(2)}ms`)));
  assert.ok(found.some((text) => text.includes("lines of thread 745, window 1")));
});
