import * as vscode from "vscode";

const FAILED = 1;

/** What a task does that cannot run: say why, when it is started. VS Code makes tasks also to list them. */
export function refusal(sentence: string): vscode.CustomExecution {
  return new vscode.CustomExecution(async () => new Explanation(sentence));
}

/** A terminal that says one sentence. */
class Explanation implements vscode.Pseudoterminal {
  readonly #written = new vscode.EventEmitter<string>();
  readonly #closed = new vscode.EventEmitter<number>();

  readonly onDidWrite = this.#written.event;
  readonly onDidClose = this.#closed.event;

  constructor(private readonly sentence: string) {}

  open(): void {
    this.#written.fire(`warplint: ${this.sentence}\r\n`);
    this.#closed.fire(FAILED);
  }

  close(): void {
    this.#written.dispose();
    this.#closed.dispose();
  }
}
