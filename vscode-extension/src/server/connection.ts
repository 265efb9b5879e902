import * as vscode from "vscode";
import { CloseAction, ErrorAction, LanguageClient, RevealOutputChannelOn } from "vscode-languageclient/node";
import { initializationOptions } from "../protocol";
import { CELLS, DOCUMENTS, SECTION, workspaceDiagnostics } from "../settings";
import type { Findings } from "./findings";
import type { ServerProcess } from "./process";

/** Its errors go to the log: the one notice that a user gets of a server that died is `Server`'s. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** A client for a server process, not yet started. It does not start another process when that one ends. */
export function connect(
  process: ServerProcess,
  findings: Findings,
  log: vscode.LogOutputChannel,
): LanguageClient {
  return new QuietClient(SECTION, "Warplint", async () => process.child, {
    documentSelector: [...DOCUMENTS, ...CELLS],
    initializationOptions: initializationOptions(vscode.workspace.isTrusted, workspaceDiagnostics()),
    diagnosticCollectionProvider: findings.collections,
    outputChannel: log,
    traceOutputChannel: log,
    stdioOptions: { stdout: leaveAlone, stderr: leaveAlone },
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationFailedHandler: () => false,
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        // Its output ends before it does, and may without it; the end of the process is what is acted on.
        void process.leave();
        return { action: CloseAction.DoNotRestart, message: "The connection ended.", handled: true };
      },
    },
  });
}

/** `ServerProcess` listens to standard error. */
function leaveAlone(): void {}
