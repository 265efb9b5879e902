import * as vscode from "vscode";
import type { Server } from "../server/client";
import { DOCUMENTS, SETTINGS } from "../settings";
import { languageText, type Remedy } from "./languageText";

const REMEDIES: Readonly<Record<Remedy, vscode.Command>> = {
  openSetting: {
    title: "Open Setting",
    command: "workbench.action.openSettings",
    arguments: [SETTINGS.serverInterpreter],
  },
  showLogs: { title: "Show Logs", command: "warplint.showLogs" },
  showVersions: { title: "Show Versions", command: "warplint.showVersions" },
};

/** The `{}` of the status bar, for a Python file: which server runs, or what keeps it from running. */
export function registerLanguageStatus(context: vscode.ExtensionContext, server: Server): void {
  const item = vscode.languages.createLanguageStatusItem("warplint.status", DOCUMENTS);
  item.name = "Warplint";
  const show = () => {
    const { text, detail, warns, busy, remedy } = languageText(server.state);
    item.text = text;
    item.detail = detail;
    item.busy = busy;
    item.severity = warns ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
    item.command = REMEDIES[remedy];
    item.accessibilityInformation = { label: `${text}. ${detail}` };
  };
  show();
  context.subscriptions.push(item, server.onDidChangeState(show));
}
