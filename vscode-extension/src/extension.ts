import * as vscode from "vscode";
import { Interpreters } from "./interpreter";
import { createLog } from "./log";
import { Server } from "./server/client";
import { registerLanguageStatus } from "./status/language";
import { registerVersions } from "./versions";

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = createLog();
  const interpreters = new Interpreters(context.extensionPath, log);
  const started = new Server(interpreters, log);
  server = started;
  context.subscriptions.push(
    log,
    interpreters,
    started,
    vscode.commands.registerCommand("warplint.showLogs", () => log.show()),
    vscode.commands.registerCommand("warplint.restart", () => started.restart()),
  );
  registerLanguageStatus(context, started);
  registerVersions(context, started);
  // Not before activation is over: other extensions wait for it.
  setImmediate(() => started.start());
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
