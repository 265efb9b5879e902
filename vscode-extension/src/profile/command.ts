import { basename } from "node:path";
import * as vscode from "vscode";
import type { Interpreters } from "../interpreter";
import { Unusable } from "../interpreter/probe";
import { Running, showTerminal, TASK_TYPE } from "./running";
import { type ProfileDefinition, ProfileTasks } from "./tasks";

/** Why a file is not profiled, and the button that leads to the remedy. */
class Refusal extends Error {
  constructor(
    message: string,
    readonly button: string,
    readonly press: () => unknown,
  ) {
    super(message);
  }
}

export function registerProfile(
  context: vscode.ExtensionContext,
  interpreters: Interpreters,
  log: vscode.LogOutputChannel,
): void {
  const running = new Running(log);
  const tasks = new ProfileTasks(interpreters);
  const starting = new Set<string>();

  const profile = async (resource?: vscode.Uri): Promise<void> => {
    const uri = resource ?? vscode.window.activeTextEditor?.document.uri;
    try {
      await start(uri);
    } catch (error) {
      await explain(error);
    }
  };

  const start = async (uri: vscode.Uri | undefined): Promise<void> => {
    mustBeTrusted();
    const file = await saved(uri);
    const path = file.fsPath;
    mustNotRun(path);
    starting.add(path);
    try {
      const definition: ProfileDefinition = { type: TASK_TYPE, file: path };
      const task = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Window, title: `Finding the Python for ${basename(path)}` },
        () => tasks.make(definition, file, vscode.workspace.getWorkspaceFolder(file)),
      );
      await vscode.tasks.executeTask(task);
    } finally {
      starting.delete(path);
    }
  };

  const mustNotRun = (path: string): void => {
    const execution = running.of(path);
    if (execution !== undefined || starting.has(path)) {
      throw new Refusal(
        `${basename(path)} is already being profiled.`,
        "Show Terminal",
        () => execution && showTerminal(execution.task.name),
      );
    }
  };

  context.subscriptions.push(
    running,
    tasks,
    vscode.tasks.registerTaskProvider(TASK_TYPE, tasks),
    vscode.commands.registerCommand("warplint.profileFile", profile),
  );
}

function mustBeTrusted(): void {
  if (!vscode.workspace.isTrusted) {
    throw new Refusal(
      "Profiling runs the program, so it needs a trusted workspace.",
      "Manage Workspace Trust",
      () => vscode.commands.executeCommand("workbench.trust.manage"),
    );
  }
}

/** What is run is the file on disk. */
async function saved(uri: vscode.Uri | undefined): Promise<vscode.Uri> {
  if (uri?.scheme !== "file") {
    throw new Unusable("Only a Python file on disk can be profiled. Open one, or save this one.");
  }
  const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === uri.toString());
  if (document?.isDirty && !(await document.save())) {
    throw new Unusable(`${basename(uri.fsPath)} could not be saved, so it was not run.`);
  }
  return uri;
}

async function explain(error: unknown): Promise<void> {
  if (error instanceof Refusal) {
    if ((await vscode.window.showWarningMessage(error.message, error.button)) === error.button) {
      await error.press();
    }
  } else if (error instanceof Unusable) {
    await vscode.window.showErrorMessage(error.message);
  } else {
    throw error;
  }
}
