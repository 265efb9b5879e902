import * as vscode from "vscode";
import { SOURCE_NAMES } from "./interpreter/candidate";
import type { Server } from "./server/client";
import type { Resolution } from "./server/resolution";

const SCHEME = "warplint-versions";
const URI = vscode.Uri.from({ scheme: SCHEME, path: "/Warplint versions" });

/** "Warplint: Show Versions": what runs, in a document to copy from, which asks nobody to be saved. */
export function registerVersions(context: vscode.ExtensionContext, server: Server): void {
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const extensionVersion = String(context.extension.packageJSON.version);
  context.subscriptions.push(
    changed,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: changed.event,
      provideTextDocumentContent: () => versions(extensionVersion, server.resolution),
    }),
    vscode.commands.registerCommand("warplint.showVersions", async () => {
      changed.fire(URI);
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(URI));
    }),
  );
}

function versions(extensionVersion: string, resolution: Resolution | undefined): string {
  const lines: [string, string][] = [
    ["Extension", extensionVersion],
    ["Editor", `${vscode.env.appName} ${vscode.version}`],
    ["System", `${process.platform} ${process.arch}`],
    ["Workspace", vscode.workspace.isTrusted ? "trusted" : "not trusted"],
    ...(resolution === undefined ? NO_SERVER : ofServer(resolution)),
  ];
  return lines.map(([what, value]) => `${`${what}:`.padEnd(12)}${value}\n`).join("");
}

const NO_SERVER: [string, string][] = [["Server", "not running"]];

function ofServer({ path, source, report }: Resolution): [string, string][] {
  const { version, origin, path: folder } = report.warplint;
  return [
    ["Warplint", `${version}, ${origin}: ${folder}`],
    ["Python", `${report.python}, ${SOURCE_NAMES[source]}: ${path}`],
    ["pygls", report.pygls],
    ["libcst", report.libcst ?? "none (fixes are not offered)"],
  ];
}
