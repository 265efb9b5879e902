import * as vscode from "vscode";
import { registerInlineCosts } from "./costs/inline";
import { FileStates } from "./costs/states";
import { Interpreters } from "./interpreter";
import { createLog } from "./log";
import { registerProfile } from "./profile/command";
import { registerPages } from "./rules/pages";
import { Server } from "./server/client";
import { registerLanguageStatus } from "./status/language";
import { registerScore } from "./status/score";
import { registerVersions } from "./versions";

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = createLog();
  const interpreters = new Interpreters(context.extensionPath, log);
  const started = new Server(interpreters, log);
  const states = new FileStates(started);
  server = started;
  context.subscriptions.push(
    log,
    interpreters,
    started,
    states,
    vscode.commands.registerCommand("warplint.showLogs", () => log.show()),
    vscode.commands.registerCommand("warplint.restart", () => started.restart()),
  );
  registerLanguageStatus(context, started);
  registerVersions(context, started, interpreters);
  registerInlineCosts(context, states);
  registerScore(context, states);
  registerPages(context, started);
  registerProfile(context, interpreters, log);
  // Not before activation is over: other extensions wait for it.
  setImmediate(() => started.start());
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
