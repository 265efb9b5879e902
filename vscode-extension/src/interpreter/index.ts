import { join } from "node:path";
import * as vscode from "vscode";
import { folderUris, type InterpreterSetting, importStrategy, SETTINGS } from "../settings";
import type { Candidate } from "./candidate";
import { type Choice, choose } from "./choose";
import { failureInWords } from "./failure";
import type { Launcher } from "./launcher";
import { probe, Unusable, type Working } from "./probe";
import { Probes } from "./probes";
import { proposals } from "./proposals";
import { PythonExtensions } from "./pythonExtensions";

/** A Python that works, and what it runs: `PYTHON …launcherArguments(launcher, COMMAND…)`. */
export interface Interpreter extends Candidate {
  readonly launcher: Launcher;
  readonly report: Working;
}

/** Finds the interpreters for the server and for programs, and says when it may find others. */
export class Interpreters implements vscode.Disposable {
  readonly #extensions: PythonExtensions;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #probes = new Probes(probe);
  readonly #said = new Set<string>();
  readonly #subscriptions: vscode.Disposable[];

  /** What `forServer` finds may have changed. */
  readonly onDidChange = this.#changed.event;

  constructor(
    private readonly extensionPath: string,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.#extensions = new PythonExtensions(log);
    const announce = () => this.#changed.fire();
    this.#subscriptions = [
      this.#changed,
      this.#extensions,
      this.#extensions.onDidChange(announce),
      vscode.workspace.onDidGrantWorkspaceTrust(announce),
      vscode.workspace.onDidChangeWorkspaceFolders(announce),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (
          [SETTINGS.importStrategy, SETTINGS.serverInterpreter].some((name) =>
            change.affectsConfiguration(name),
          )
        ) {
          announce();
        }
      }),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  /** Ask every interpreter again what it runs: packages may have been installed since. */
  forget(): void {
    this.#probes.forget();
    this.#said.clear();
  }

  /** One server serves all folders, so the first folder for which an interpreter works decides. */
  forServer(): Promise<Choice<Interpreter>> {
    const folders = folderUris();
    return this.#choose(SETTINGS.serverInterpreter, folders.length > 0 ? folders : [undefined]);
  }

  /**
   * The Python that runs a program to be profiled.
   *
   * Only the PATH is searched for another where one does not work: a program must not run, unasked, in
   * another environment than the one that was chosen for it. Rejects with `Unusable`, which says the remedy.
   */
  async programInterpreter(resource: vscode.Uri | undefined): Promise<Interpreter> {
    const setting = SETTINGS.programInterpreter;
    const { chosen, failures } = await this.#choose(setting, [resource]);
    const decisive = failures.find(({ source }) => source !== "path");
    if (decisive !== undefined) {
      throw new Unusable(failureInWords(decisive, setting));
    }
    if (chosen === undefined) {
      throw new Unusable(
        `No Python 3.10 or newer was found to run the program with. Name one in the setting "${setting}".`,
      );
    }
    return chosen;
  }

  async #choose(
    setting: InterpreterSetting,
    resources: readonly (vscode.Uri | undefined)[],
  ): Promise<Choice<Interpreter>> {
    const launcher: Launcher = {
      script: join(this.extensionPath, "bundled", "launch.py"),
      strategy: importStrategy(),
      isolated: !vscode.workspace.isTrusted,
    };
    const foreign = (path: string) =>
      this.#say(`${path} is not run: it belongs to this workspace, which is not trusted.`);
    const choice = await choose(
      proposals(setting, resources, this.#extensions, foreign),
      async (candidate) => ({
        ...candidate,
        launcher,
        report: await this.#probes.report(candidate.path, launcher),
      }),
    );
    for (const failure of choice.failures) {
      this.#say(failureInWords(failure, setting));
    }
    return choice;
  }

  /** Log what is found, once: it is looked for at every event that may have changed it. */
  #say(sentence: string): void {
    if (!this.#said.has(sentence)) {
      this.#said.add(sentence);
      this.log.warn(sentence);
    }
  }
}
