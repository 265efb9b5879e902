import { execFileSync } from "node:child_process";
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
      await page.route(
        (url) => url.pathname === "/",
        async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, body: withTestDriver(await response.text()) });
        },
      );
    }
    let code: number | undefined;
    await page.exposeFunction("codeAutomationExit", (status: number) => {
      code = status;
    });
    await page.exposeFunction("codeAutomationLog", () => undefined);
    const cases = `vscode-remote://${host.authority}${path.join(E2E, "api")}`;
    const payload = JSON.stringify([
      ["extensionDevelopmentPath", cases],
      ["extensionTestsPath", `${cases}/index.cjs`],
    ]);
    await page.goto(`${host.url}/?folder=${workspace.folder}&payload=${encodeURIComponent(payload)}`);
    await until("the cases to be run", () => code !== undefined, RUN_MS);
    return { results: read(file), logs: host.logs() };
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

/** The page of a release that has no flag for the driver, which tests are run by. */
function withTestDriver(html: string): string {
  const configuration = /(id="vscode-workbench-web-configuration" data-settings=")([^"]*)"/;
  return html.replace(configuration, (_, start: string, settings: string) => {
    const value = JSON.parse(settings.replaceAll("&quot;", '"').replaceAll("&amp;", "&"));
    value.developmentOptions = { ...value.developmentOptions, enableSmokeTestDriver: true };
    return `${start}${JSON.stringify(value).replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"`;
  });
}

function read(file: string): CaseResult[] {
  return existsSync(file)
    ? readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];
}

/** A Python of this machine without any packages. */
export function barePython(workspace: Workspace): string {
  execFileSync("python3", ["-m", "venv", "--without-pip", workspace.path(".bare")]);
  return workspace.path(".bare/bin/python");
}
