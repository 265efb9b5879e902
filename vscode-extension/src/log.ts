import * as vscode from "vscode";

/** The one output channel: the extension's own messages, the server's, and traces between the two. */
export function createLog(): vscode.LogOutputChannel {
  return vscode.window.createOutputChannel("Warplint", { log: true });
}
