import { after, before, test } from "node:test";
import type { BrowserContext } from "playwright-core";
import { launch } from "./browser.ts";
import { packagedExtension } from "./extension.ts";
import { Host, type HostOptions, type Settings } from "./host.ts";
import { Workbench } from "./workbench.ts";
import type { Workspace } from "./workspace.ts";

export interface Stage {
  readonly host: Host;
  readonly browser: BrowserContext;
  readonly workspace: Workspace;
  readonly window: Workbench;
}

export interface StoryOptions extends Omit<HostOptions, "extensions" | "environment" | "machine"> {
  workspace: () => Workspace;
  environment?: (workspace: Workspace) => Readonly<Record<string, string>>;
  machine?: (workspace: Workspace) => Settings;
  /** Which of the packages of Warplint; this platform's when not given. */
  extension?: () => string;
  /** What of the workspace to open, when that is not its folder. */
  open?: string;
  /** Packaged extensions beside Warplint. */
  beside?: readonly (() => string)[];
}

/** A remark that a body returns stands beside its result. */
type Body = (stage: Stage) => unknown;

type Step = (title: string, body: Body) => void;

/**
 * One window with the packaged extension, in which steps happen one after another: a step begins where the one before
 * it ended, so those after a failed one fail too. Each leaves a screenshot.
 */
export function story(name: string, options: StoryOptions): Step {
  let stage: Stage | undefined;
  let failed = false;
  const cleanUp: (() => void | Promise<void>)[] = [];

  before(async () => {
    const workspace = options.workspace();
    cleanUp.unshift(() => workspace.remove());
    const beside = (options.beside ?? []).map((extension) => extension());
    const host = await Host.start({
      ...options,
      extensions: [(options.extension ?? packagedExtension)(), ...beside],
      machine: options.machine?.(workspace) ?? {},
      environment: options.environment?.(workspace) ?? {},
    });
    cleanUp.unshift(() => host.stop());
    const browser = await launch();
    cleanUp.unshift(() => browser.close());
    const place = options.open === undefined ? workspace.folder : workspace.path(options.open);
    stage = { host, browser, workspace, window: await Workbench.open(browser, host, place, name) };
  });

  after(async () => {
    for (const step of cleanUp) {
      await step();
    }
  });

  return (title, body) => {
    test(title, async (t) => {
      if (stage === undefined || failed) {
        throw new Error("not reached: an earlier step failed");
      }
      try {
        const remark = await body(stage);
        if (typeof remark === "string") {
          t.diagnostic(remark);
        }
        await stage.window.shot(slug(title));
      } catch (error) {
        failed = true;
        const screenshot = await stage.window.shot(`failed-${slug(title)}`);
        process.stderr.write(`screenshot: ${screenshot}\n${stage.host.logs()}\n`);
        throw error;
      }
    });
  };
}

const slug = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 60);
