import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { launch } from "./browser.ts";
import { Host, type HostOptions } from "./host.ts";
import { E2E, SCREENSHOTS } from "./places.ts";
import { until } from "./wait.ts";
import type { Workspace } from "./workspace.ts";

const RUN_MS = 120_000;

export interface CaseResult {
  readonly name: string;
  /** Why it failed; null when it did not. */
  readonly error: string | null;
  readonly figures: Readonly<Record<string, number>>;
}

/** Run the cases of `api/` inside the extension host of an edition; what became of each, and the logs. */
export async function runCases(
  options: HostOptions & { workspace: Workspace },
): Promise<{ results: CaseResult[]; logs: string }> {
  const { workspace } = options;
  const file = workspace.path(".results");
  const host = await Host.start({
    ...options,
    environment: { ...options.environment, WARPLINT_API_RESULTS: file },
    arguments: options.edition === "floor" ? [] : ["--vscode-option", "enable-smoke-test-driver"],
  });
  const browser = await launch();
  const page = await browser.newPage();
  try {
    if (options.edition === "floor") {
      await page.addInitScript(withTestDriver);
    }
    let code: number | undefined;
    await page.exposeFunction("codeAutomationExit", (status: number) => {
      code = status;
    });
    const said: unknown[] = [];
    await page.exposeFunction("codeAutomationLog", (_: string, words: unknown[]) => said.push(words));
    const cases = `vscode-remote://${host.authority}${path.join(E2E, "api")}`;
    const payload = JSON.stringify([
      ["extensionDevelopmentPath", cases],
      ["extensionTestsPath", `${cases}/index.cjs`],
    ]);
    await page.goto(`${host.url}/?folder=${workspace.folder}&payload=${encodeURIComponent(payload)}`);
    await until("the cases to be run", () => code !== undefined, RUN_MS);
    return { results: read(file), logs: `${said.join("\n")}\n${host.logs()}` };
  } catch (error) {
    const screenshot = path.join(SCREENSHOTS, `api-failed-${options.edition ?? "current"}.png`);
    await page.screenshot({ path: screenshot });
    const done = read(file).map(({ name }) => name);
    throw new Error(`screenshot: ${screenshot}\nran: ${done.join(", ")}\n${host.logs()}`, { cause: error });
  } finally {
    await browser.close();
    await host.stop();
  }
}

/** Runs in the page of a release that has no flag for the driver by which cases are run. */
function withTestDriver(): void {
  const original = Element.prototype.getAttribute;
  Element.prototype.getAttribute = function (name) {
    const value = original.call(this, name);
    if (this.id !== "vscode-workbench-web-configuration" || name !== "data-settings" || value === null) {
      return value;
    }
    return JSON.stringify({ ...JSON.parse(value), developmentOptions: { enableSmokeTestDriver: true } });
  };
}

function read(file: string): CaseResult[] {
  return existsSync(file)
    ? readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];
}
