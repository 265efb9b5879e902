import { homedir } from "node:os";
import * as vscode from "vscode";
import type { Surroundings } from "./interpreter/expand";
import type { ImportStrategy } from "./interpreter/launcher";

export const SECTION = "warplint";

/** What is checked, and where what is drawn goes. */
export const DOCUMENTS = [{ scheme: "file", language: "python" }] as const;

/** The cells of notebooks, which the server checks together. */
export const CELLS = [{ scheme: "vscode-notebook-cell", language: "python" }] as const;

/** The settings by their full names, as in `package.json` and in the settings editor. */
export const SETTINGS = {
  importStrategy: "warplint.importStrategy",
  serverInterpreter: "warplint.server.interpreter",
  programInterpreter: "warplint.program.interpreter",
  workspaceDiagnostics: "warplint.workspaceDiagnostics",
} as const;

export type InterpreterSetting = typeof SETTINGS.serverInterpreter | typeof SETTINGS.programInterpreter;

/** An interpreter setting that is set, and where what it says is to be understood. */
export interface InterpreterValue {
  /** A path, but for a mistake: VS Code hands on whatever `settings.json` holds. */
  readonly written: unknown;
  readonly surroundings: Surroundings;
}

/** An untrusted workspace gets the bundled Warplint, whose code nobody can have changed. */
export function importStrategy(): ImportStrategy {
  const wanted = vscode.workspace.getConfiguration().get<ImportStrategy>(SETTINGS.importStrategy);
  return vscode.workspace.isTrusted && wanted !== "useBundled" ? "fromEnvironment" : "useBundled";
}

/** Whether files that are not open are checked too. Read when the server starts. */
export function workspaceDiagnostics(): boolean {
  return vscode.workspace.getConfiguration().get<boolean>(SETTINGS.workspaceDiagnostics) === true;
}

export function interpreterValue(
  setting: InterpreterSetting,
  resource: vscode.Uri | undefined,
): InterpreterValue | undefined {
  const written = vscode.workspace.getConfiguration(undefined, resource ?? null).get<unknown>(setting);
  const folder = resource && vscode.workspace.getWorkspaceFolder(resource);
  return String(written ?? "").trim() === ""
    ? undefined
    : {
        written,
        surroundings: {
          workspaceFolder: folder?.uri.fsPath,
          userHome: homedir(),
          environment: process.env,
        },
      };
}

/** The folders' places on disk; one that has none is served by nothing here. */
export function folderUris(): vscode.Uri[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .map(({ uri }) => uri)
    .filter(({ scheme }) => scheme === "file");
}
