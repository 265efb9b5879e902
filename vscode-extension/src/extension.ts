import * as vscode from "vscode";
import { createLog } from "./log";

export function activate(context: vscode.ExtensionContext): void {
  const log = createLog();
  context.subscriptions.push(
    log,
    vscode.commands.registerCommand("warplint.showLogs", () => log.show()),
  );
}
