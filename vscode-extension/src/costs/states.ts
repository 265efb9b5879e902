import * as vscode from "vscode";
import type { FileState } from "../protocol";
import type { ServerState } from "../server/state";

/** Where states come from: the server. */
export interface StateSource {
  readonly onDidReceiveState: vscode.Event<FileState>;
  readonly onDidChangeState: vscode.Event<ServerState>;
}

/** The newest state of each open document. Old ones stay until there are new ones. */
export class FileStates implements vscode.Disposable {
  readonly #states = new Map<string, FileState>();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #subscriptions: vscode.Disposable;

  /** Some document has another state, or none any more. */
  readonly onDidChange = this.#changed.event;

  constructor(source: StateSource) {
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      source.onDidReceiveState((state) => this.#receive(state)),
      source.onDidChangeState(({ kind }) => {
        // One that died or is started anew has soon said again what there is to draw.
        if (kind === "noInterpreter") {
          this.#clear();
        }
      }),
      // Also one that is no longer taken for Python, which stays in its editor.
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        if (this.#states.delete(uri.toString())) {
          this.#changed.fire();
        }
      }),
    );
  }

  of(document: vscode.TextDocument): FileState | undefined {
    return this.#states.get(document.uri.toString());
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #receive(state: FileState): void {
    const key = vscode.Uri.parse(state.uri).toString();
    const document = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === key);
    // The state of an older text has the wrong lines; that of the text as it is now is on its way.
    if (document === undefined || state.version < document.version) {
      return;
    }
    this.#states.set(key, state);
    this.#changed.fire();
  }

  #clear(): void {
    this.#states.clear();
    this.#changed.fire();
  }
}
