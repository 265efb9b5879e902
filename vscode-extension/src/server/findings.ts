import * as vscode from "vscode";
import type { DiagnosticCollectionProvider } from "vscode-languageclient/node";
import { SECTION } from "../settings";

/** The findings that are shown. They outlive the client that brought them, whose successor replaces them. */
export class Findings implements vscode.Disposable {
  readonly #collection = vscode.languages.createDiagnosticCollection(SECTION);
  readonly #subscriptions = vscode.Disposable.from(
    this.#collection,
    // A client does this too, but there is none while a server that died waits for its restart.
    vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#collection.delete(uri)),
  );

  /** Gives every client the same collection, and lets none take it along. */
  readonly collections: DiagnosticCollectionProvider = {
    create: () => this.#collection,
    dispose: () => undefined,
  };

  clear(): void {
    this.#collection.clear();
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }
}
