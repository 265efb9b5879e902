import * as vscode from "vscode";
import { type Drawn, type DrawnCost, differs, drawingOf, NOTHING } from "./drawing";
import type { FileStates } from "./states";

/** Draws at the ends of lines what they cost. The texts move with the lines by themselves. */
export function registerInlineCosts(context: vscode.ExtensionContext, states: FileStates): void {
  const fresh = decorationType("warplint.costForeground", "normal");
  const stale = decorationType("warplint.staleCostForeground", "italic");
  const drawn = new WeakMap<vscode.TextEditor, Drawn>();

  const draw = (editor: vscode.TextEditor): void => {
    const { document } = editor;
    const state = states.of(document);
    // What stands there now stays while the state of the present text is on its way.
    if (state !== undefined && (state.version < document.version || state.costs === null)) {
      return;
    }
    const drawing = state?.costs && inMainEditor(editor) ? drawingOf(state.costs) : NOTHING;
    const wanted = { drawing, version: document.version };
    if (!differs(drawn.get(editor), wanted)) {
      return;
    }
    editor.setDecorations(
      fresh,
      drawing.fresh.map((cost) => decoration(document, cost)),
    );
    editor.setDecorations(
      stale,
      drawing.stale.map((cost) => decoration(document, cost)),
    );
    drawn.set(editor, wanted);
  };
  const drawAll = (): void => vscode.window.visibleTextEditors.forEach(draw);

  context.subscriptions.push(
    fresh,
    stale,
    states.onDidChange(drawAll),
    vscode.window.onDidChangeVisibleTextEditors(drawAll),
    vscode.window.onDidChangeTextEditorViewColumn(drawAll),
  );
  drawAll();
}

/** Not one side of a diff, nor a peek. */
function inMainEditor(editor: vscode.TextEditor): boolean {
  return editor.viewColumn !== undefined;
}

function decorationType(color: string, fontStyle: string): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    // At the line's end wherever that moves to; the range itself is at the line's start.
    isWholeLine: true,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    after: { color: new vscode.ThemeColor(color), fontStyle, margin: "0 0 0 3em" },
  });
}

/** Why a text is dimmed stands in the line's hover, which the server makes. */
function decoration(document: vscode.TextDocument, { line, text }: DrawnCost): vscode.DecorationOptions {
  const start = document.lineAt(line).firstNonWhitespaceCharacterIndex;
  return {
    range: new vscode.Range(line, start, line, start + 1),
    renderOptions: { after: { contentText: text } },
  };
}
