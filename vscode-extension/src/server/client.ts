import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Interpreters } from "../interpreter";
import type { Choice } from "../interpreter/choose";
import { failureInWords } from "../interpreter/failure";
import { type FileState, STATE_NOTIFICATION } from "../protocol";
import { SETTINGS } from "../settings";
import { Backoff } from "./backoff";
import { Findings } from "./findings";
import { ServerProcess } from "./process";
import { inWords, type Resolution, sameServer, serverArguments } from "./resolution";
import { Serial } from "./serial";
import type { ServerState } from "./state";

/** A server that has not answered `initialize` by then is ended, and tried again. */
const START_LIMIT_MS = 60_000;

/** One running server: its process, and the client that talks to it. */
interface Run {
  readonly client: LanguageClient;
  readonly process: ServerProcess;
  readonly beganAt: number;
}

/** The language server: one for all folders, found, started, kept running, and started anew when need be. */
export class Server implements vscode.Disposable {
  readonly #stateReceived = new vscode.EventEmitter<FileState>();
  readonly #started = new vscode.EventEmitter<void>();
  readonly #stateChanged = new vscode.EventEmitter<ServerState>();
  readonly #subscriptions: vscode.Disposable[];
  readonly #serial = new Serial(() => this.#update());
  readonly #backoff = new Backoff();
  readonly #findings = new Findings();
  #run: Run | undefined;
  #resolution: Resolution | undefined;
  #state: ServerState = { kind: "starting" };
  #retry: NodeJS.Timeout | undefined;
  #anew = false;
  #deathWasSaid = false;
  #stopping = false;

  /** What the server has worked out about an open file. */
  readonly onDidReceiveState = this.#stateReceived.event;
  readonly onDidStart = this.#started.event;
  readonly onDidChangeState = this.#stateChanged.event;

  constructor(
    private readonly interpreters: Interpreters,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.#subscriptions = [
      this.#findings,
      this.#stateReceived,
      this.#started,
      this.#stateChanged,
      interpreters.onDidChange(() => this.start()),
    ];
  }

  get state(): ServerState {
    return this.#state;
  }

  /** What runs; undefined while nothing does. */
  get resolution(): Resolution | undefined {
    return this.#run && this.#resolution;
  }

  /** Start the server; one that runs is left alone, unless another would be found now. */
  start(): void {
    void this.#serial.request();
  }

  /** Start the server anew, on whatever is found now. */
  restart(): Promise<void> {
    this.#backoff.reset();
    this.#deathWasSaid = false;
    return this.#startAnew();
  }

  /** Ask the server, once one that is starting has started. Rejects where none runs. */
  async request<T>(method: string, params: object): Promise<T> {
    await this.#serial.settled();
    if (this.#run === undefined) {
      throw new Error("the Warplint server is not running");
    }
    return this.#run.client.sendRequest<T>(method, params);
  }

  /** End the server for good. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#retry);
    await this.#serial.settled();
    await this.#end();
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  #startAnew(): Promise<void> {
    this.interpreters.forget();
    this.#anew = true;
    return this.#serial.request();
  }

  async #update(): Promise<void> {
    clearTimeout(this.#retry);
    try {
      await this.#follow();
    } catch (error) {
      this.log.error("The server could not be started.", error);
      this.#enter({ kind: "failed", problem: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Run what is found now, if it does not run already. */
  async #follow(): Promise<void> {
    const choice = await this.interpreters.forServer();
    if (this.#stopping) {
      return;
    }
    const { chosen } = choice;
    if (
      this.#run !== undefined &&
      chosen !== undefined &&
      !this.#anew &&
      sameServer(chosen, this.#resolution)
    ) {
      this.#resolution = chosen;
      this.#enter({ kind: "running", resolution: chosen, fallback: fallback(choice) });
      return;
    }
    this.#anew = false;
    await this.#end();
    this.#resolution = chosen;
    if (chosen === undefined) {
      this.#findings.clear();
      this.#enter({ kind: "noInterpreter", problem: noInterpreter(choice) });
    } else {
      this.#enter({ kind: "starting" });
      await this.#begin(chosen, fallback(choice));
    }
  }

  async #begin(resolution: Resolution, instead: string | undefined): Promise<void> {
    this.log.info(
      `Starting ${inWords(resolution)}: ${[resolution.path, ...serverArguments(resolution)].join(" ")}`,
    );
    if (resolution.report.warplint.remark !== null) {
      this.log.info(`Bundled, because ${resolution.report.warplint.remark}.`);
    }
    const process = new ServerProcess(resolution, (line) => this.log.warn(`[server] ${line}`));
    // Not before it is needed: loading it takes several times as long as the rest of activation.
    const { connect } = await import("./connection.js");
    const client = connect(process, this.#findings, this.log);
    client.onNotification(STATE_NOTIFICATION, (state: FileState) => this.#stateReceived.fire(state));
    const run: Run = { client, process, beganAt: Date.now() };
    this.#run = run;
    const ended = process.ended.then((how) => this.#ended(run, how));
    const limit = setTimeout(() => process.kill(), START_LIMIT_MS);
    try {
      await Promise.race([client.start(), ended]);
    } catch (error) {
      this.log.error("The server did not begin to serve.", error);
      await process.leave();
      await ended;
    } finally {
      clearTimeout(limit);
    }
    if (this.#run === run) {
      this.#enter({ kind: "running", resolution, fallback: instead });
      this.#started.fire();
    }
  }

  /** A server ended; unasked, if it is still the one that should run. */
  #ended(run: Run, how: string): void {
    if (this.#run !== run) {
      return;
    }
    this.#run = undefined;
    const retryMs = this.#backoff.delayAfterMs(Date.now() - run.beganAt);
    this.log.error(`The server stopped (${how}). It is started again in ${retryMs / 1000} s.`);
    this.#enter({ kind: "died", how, retryInS: retryMs / 1000 });
    this.#retry = setTimeout(() => this.#startAnew(), retryMs);
    if (!this.#deathWasSaid) {
      this.#deathWasSaid = true;
      void this.#sayDeath(how);
    }
  }

  async #sayDeath(how: string): Promise<void> {
    const showLogs = "Show Logs";
    const message = `The Warplint server stopped (${how}). It is started again by itself.`;
    if ((await vscode.window.showWarningMessage(message, showLogs)) === showLogs) {
      this.log.show();
    }
  }

  async #end(): Promise<void> {
    const run = this.#run;
    if (run === undefined) {
      return;
    }
    this.#run = undefined;
    try {
      await run.client.stop();
    } catch (error) {
      this.log.warn("The server did not take its leave.", error);
    }
    await run.process.leave();
  }

  #enter(state: ServerState): void {
    this.#state = state;
    this.#stateChanged.fire(state);
  }
}

function fallback({ chosen, failures }: Choice<Resolution>): string | undefined {
  const failure = failures.find(({ source }) => source !== "path");
  return (
    failure && `${failureInWords(failure, SETTINGS.serverInterpreter)} Until then ${chosen?.path} is used.`
  );
}

function noInterpreter({ failures }: Choice<Resolution>): string {
  const [first] = failures;
  const setting = SETTINGS.serverInterpreter;
  const problem =
    first === undefined
      ? `Install Python 3.10 or newer, or name one in the setting "${setting}".`
      : failureInWords(first, setting);
  return vscode.workspace.isTrusted
    ? problem
    : `${problem} One in this workspace is not run until you trust it.`;
}
