import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import type { Interpreters } from "../interpreter";
import { Unusable } from "../interpreter/probe";
import { SETTINGS } from "../settings";
import { processOf } from "./invocation";
import { refusal } from "./refusal";
import { TASK_TYPE } from "./running";

/** A task as `tasks.json` may hold it. */
export interface ProfileDefinition extends vscode.TaskDefinition {
  readonly type: typeof TASK_TYPE;
  readonly file: string;
  readonly arguments?: readonly string[];
  readonly steps?: number;
}

/** Makes the tasks that profile, for the command and for `tasks.json`. */
export class ProfileTasks implements vscode.TaskProvider, vscode.Disposable {
  #folder: string | undefined;
  #made = 0;

  constructor(private readonly interpreters: Interpreters) {}

  dispose(): void {
    if (this.#folder !== undefined) {
      void rm(this.#folder, { recursive: true, force: true });
    }
  }

  /** None of its own: the command profiles the file at hand, and every other file is named in `tasks.json`. */
  provideTasks(): vscode.Task[] {
    return [];
  }

  async resolveTask({ definition, scope, name }: vscode.Task): Promise<vscode.Task | undefined> {
    if (!isProfileDefinition(definition)) {
      return undefined;
    }
    const folder = typeof scope === "object" ? scope : vscode.workspace.workspaceFolders?.[0];
    try {
      const file = vscode.Uri.file(pathOf(definition.file, folder));
      return await this.make(definition, file, folder);
    } catch (error) {
      if (!(error instanceof Unusable)) {
        throw error;
      }
      const where = scope ?? vscode.TaskScope.Workspace;
      return new vscode.Task(definition, where, name, TASK_TYPE, refusal(error.message), []);
    }
  }

  /** Rejects with `Unusable` where no interpreter works. */
  async make(
    definition: ProfileDefinition,
    file: vscode.Uri,
    folder: vscode.WorkspaceFolder | undefined,
  ): Promise<vscode.Task> {
    const settings = vscode.workspace.getConfiguration("warplint.profile", file);
    const [warplint, program] = await Promise.all([
      this.#warplintInterpreter(),
      this.interpreters.programInterpreter(file),
    ]);
    const { process, args } = processOf({
      warplintPython: warplint.path,
      launcher: warplint.launcher,
      programPython: program.path,
      progressFile: this.#progressFile(),
      steps: definition.steps ?? settings.get("steps", 10),
      file: file.fsPath,
      arguments: definition.arguments ?? settings.get<string[]>("arguments", []),
    });
    const execution = new vscode.ProcessExecution(process, args, {
      cwd: folder?.uri.fsPath ?? dirname(file.fsPath),
    });
    const name = `Profile ${basename(file.fsPath)}`;
    const task = new vscode.Task(
      definition,
      folder ?? vscode.TaskScope.Workspace,
      name,
      TASK_TYPE,
      execution,
      [],
    );
    task.presentationOptions = {
      panel: vscode.TaskPanelKind.Dedicated,
      clear: true,
      showReuseMessage: false,
    };
    return task;
  }

  async #warplintInterpreter() {
    const { chosen } = await this.interpreters.forServer();
    if (chosen === undefined) {
      throw new Unusable(
        `Warplint found no Python to run on. Name one in the setting "${SETTINGS.serverInterpreter}".`,
      );
    }
    return chosen;
  }

  /** One of its own for each run, under a name that nobody else can have taken. */
  #progressFile(): string {
    this.#folder ??= mkdtempSync(join(tmpdir(), "warplint-"));
    this.#made += 1;
    return join(this.#folder, `run-${this.#made}.jsonl`);
  }
}

function isProfileDefinition(definition: vscode.TaskDefinition): definition is ProfileDefinition {
  const { type, file } = definition;
  return type === TASK_TYPE && typeof file === "string";
}

/**
 * The file that `tasks.json` names: which Python runs it depends on it. VS Code replaces variables only later, when
 * the process is started. Throws `Unusable` where one is not known here.
 */
function pathOf(written: string, folder: vscode.WorkspaceFolder | undefined): string {
  const active = vscode.window.activeTextEditor?.document.uri;
  const values: Readonly<Record<string, string | undefined>> = {
    file: active?.fsPath,
    fileBasename: active && basename(active.fsPath),
    fileDirname: active && dirname(active.fsPath),
    relativeFile: active && vscode.workspace.asRelativePath(active, false),
    workspaceFolder: folder?.uri.fsPath,
  };
  const path = written.replace(/\$\{(\w+)\}/g, (variable, name: string) => {
    const value = values[name];
    if (value === undefined) {
      throw new Unusable(`The task's file is "${written}", and ${variable} has no value here.`);
    }
    return value;
  });
  return isAbsolute(path) || folder === undefined ? path : join(folder.uri.fsPath, path);
}
