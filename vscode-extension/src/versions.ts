import * as vscode from "vscode";
import type { Interpreter, Interpreters } from "./interpreter";
import { SOURCE_NAMES } from "./interpreter/candidate";
import { Unusable } from "./interpreter/probe";
import type { Server } from "./server/client";
import { folderUris } from "./settings";
import { languageText } from "./status/languageText";

const SCHEME = "warplint-versions";
const URI = vscode.Uri.from({ scheme: SCHEME, path: "/Warplint versions" });

/** "Warplint: Show Versions": what runs, in a document to copy from, which asks nobody to be saved. */
export function registerVersions(
  context: vscode.ExtensionContext,
  server: Server,
  interpreters: Interpreters,
): void {
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const extensionVersion = String(context.extension.packageJSON.version);
  let text = "";
  context.subscriptions.push(
    changed,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: changed.event,
      provideTextDocumentContent: () => text,
    }),
    vscode.commands.registerCommand("warplint.showVersions", async () => {
      const active = vscode.window.activeTextEditor?.document.uri;
      const resource = active?.scheme === "file" ? active : folderUris().at(0);
      text = table([
        ["Extension", extensionVersion],
        ["Editor", `${vscode.env.appName} ${vscode.version}`],
        ["System", `${process.platform} ${process.arch}`],
        ["Workspace", vscode.workspace.isTrusted ? "trusted" : "not trusted"],
        ...ofServer(server),
        ["Programs", await ofPrograms(interpreters, resource)],
      ]);
      changed.fire(URI);
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(URI));
    }),
  );
}

type Row = readonly [what: string, value: string];

function table(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([what]) => what.length)) + 2;
  return rows.map(([what, value]) => `${`${what}:`.padEnd(width)}${value}\n`).join("");
}

function ofServer({ resolution, state }: Server): Row[] {
  if (resolution === undefined) {
    return [["Server", languageText(state).detail]];
  }
  const { report } = resolution;
  const { version, origin, path, remark } = report.warplint;
  return [
    ["Warplint", `${version}, ${origin}: ${path}${remark === null ? "" : ` (${remark})`}`],
    ["Python", onWhat(resolution)],
    ["pygls", report.pygls],
    ["libcst", report.libcst ?? "none (fixes are not offered)"],
  ];
}

async function ofPrograms(interpreters: Interpreters, resource: vscode.Uri | undefined): Promise<string> {
  if (!vscode.workspace.isTrusted) {
    return "not run, as the workspace is not trusted";
  }
  try {
    return onWhat(await interpreters.programInterpreter(resource));
  } catch (error) {
    if (error instanceof Unusable) {
      return error.message;
    }
    throw error;
  }
}

function onWhat({ path, source, report }: Interpreter): string {
  return `${report.python}, ${SOURCE_NAMES[source]}: ${path}`;
}
