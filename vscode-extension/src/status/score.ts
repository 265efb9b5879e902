import { isDeepStrictEqual } from "node:util";
import * as vscode from "vscode";
import type { FileStates } from "../costs/states";
import type { Score } from "../protocol";
import { SCORE_PAGE } from "../rules/addresses";
import { itemLabel, itemText, signed, tooltip } from "./scoreText";

const SHOW = "warplint.score.show";
const SHOW_PARTS = "warplint.showScoreParts";
const OPEN = "vscode.open";
/** Editors that take the focus without being the file that is worked on. */
const BESIDE = new Set(["output", "debug", "comment"]);

const BACKGROUNDS = {
  red: new vscode.ThemeColor("statusBarItem.errorBackground"),
  yellow: new vscode.ThemeColor("statusBarItem.warningBackground"),
  green: undefined,
} as const;

/** What the item shows, as long as nothing of it changes. */
interface Shown {
  readonly score: Score;
  /** The file's address. */
  readonly file: string;
}

/** The score of the file in the active editor, in the status bar. */
export function registerScore(context: vscode.ExtensionContext, states: FileStates): void {
  // Left of the cursor's position.
  const item = vscode.window.createStatusBarItem("warplint.score", vscode.StatusBarAlignment.Right, 101);
  item.name = "Warplint: GPU-Friendliness Score";
  item.command = SHOW_PARTS;

  let editor = vscode.window.activeTextEditor;
  let shown: Shown | undefined;

  const update = (): void => {
    const wanted = toShow(editor?.document, states);
    if (isDeepStrictEqual(wanted, shown)) {
      return;
    }
    shown = wanted;
    if (wanted === undefined) {
      item.hide();
    } else {
      draw(item, wanted);
      item.show();
    }
  };
  const follow = (active: vscode.TextEditor | undefined): void => {
    if (active === undefined || !BESIDE.has(active.document.uri.scheme)) {
      editor = active;
      update();
    }
  };

  context.subscriptions.push(
    item,
    states.onDidChange(update),
    vscode.window.onDidChangeActiveTextEditor(follow),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(SHOW)) {
        update();
      }
    }),
    vscode.commands.registerCommand(SHOW_PARTS, () => shown && showParts(shown)),
  );
  update();
}

function toShow(document: vscode.TextDocument | undefined, states: FileStates): Shown | undefined {
  if (document?.languageId !== "python" || !vscode.workspace.getConfiguration().get(SHOW, true)) {
    return undefined;
  }
  const score = states.of(document)?.score;
  return score ? { score, file: document.uri.toString() } : undefined;
}

function draw(item: vscode.StatusBarItem, { score, file }: Shown): void {
  item.text = itemText(score);
  item.backgroundColor = BACKGROUNDS[score.band];
  item.color = score.band === "green" ? new vscode.ThemeColor("warplint.goodScoreForeground") : undefined;
  item.accessibilityInformation = { label: itemLabel(score), role: "button" };
  const place = (line: number) => `${file}#L${line + 1}`;
  const markdown = new vscode.MarkdownString(
    tooltip(score, place, commandLink(OPEN, SCORE_PAGE.toString())),
    true,
  );
  markdown.isTrusted = { enabledCommands: [OPEN] };
  item.tooltip = markdown;
}

/** Markdown in tooltips follows no links of schemes of our own. */
function commandLink(command: string, ...args: string[]): string {
  return `command:${command}?${encodeURIComponent(JSON.stringify(args))}`;
}

/** For the keyboard what the tooltip's links are for the mouse. */
async function showParts({ score: { value, summary, parts }, file }: Shown): Promise<void> {
  const choices = parts.map(({ label, points, line }) => ({
    label: `${signed(points)}  ${label}`,
    line,
    ...(line === null ? {} : { description: `line ${line + 1}` }),
  }));
  const chosen = await vscode.window.showQuickPick(choices, {
    title: `GPU-friendliness: ${value} of 100`,
    placeHolder: summary,
  });
  if (chosen !== undefined && chosen.line !== null) {
    const selection = new vscode.Range(chosen.line, 0, chosen.line, 0);
    await vscode.window.showTextDocument(vscode.Uri.parse(file), { selection });
  }
}
