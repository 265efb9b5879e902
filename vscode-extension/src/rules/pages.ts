import * as vscode from "vscode";
import { RULE_PAGE_REQUEST, type RulePage, type RulePageParams } from "../protocol";
import { PAGE_SCHEME, SCORE_PAGE } from "./addresses";

/** Who knows what a rule's page says: the server. */
export interface RulePageSource {
  readonly onDidStart: vscode.Event<void>;
  request<T>(method: string, params: object): Promise<T>;
}

/** Documents of the scheme `warplint-rule`, which the links behind diagnostics' codes lead to. */
export function registerPages(context: vscode.ExtensionContext, server: RulePageSource): void {
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const provider: vscode.TextDocumentContentProvider = {
    onDidChange: changed.event,
    provideTextDocumentContent: (uri) =>
      uri.path === SCORE_PAGE.path ? scorePage(context.extensionUri) : rulePage(server, uri),
  };
  context.subscriptions.push(
    changed,
    vscode.workspace.registerTextDocumentContentProvider(PAGE_SCHEME, provider),
    // A page that was open before, in a window that is restored say, could not be shown.
    server.onDidStart(() => {
      for (const { uri } of vscode.workspace.textDocuments) {
        if (uri.scheme === PAGE_SCHEME) {
          changed.fire(uri);
        }
      }
    }),
  );
}

async function rulePage(server: RulePageSource, uri: vscode.Uri): Promise<string> {
  const code = uri.path.replace(/^\//, "").replace(/\.md$/, "");
  const params: RulePageParams = { code };
  try {
    return (await server.request<RulePage>(RULE_PAGE_REQUEST, params)).markdown;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `# ${code}\n\nThis page cannot be shown now: ${reason}. Run **Warplint: Show Logs** to see more.\n`;
  }
}

/** Packaged, docs are in the extension's folder; in the repository, beside it. */
async function scorePage(extension: vscode.Uri): Promise<string> {
  const { fs } = vscode.workspace;
  const folders = [extension, vscode.Uri.joinPath(extension, "..")];
  const pages = folders.map((folder) => vscode.Uri.joinPath(folder, "docs", "score.md"));
  const bytes = await Promise.any(pages.map((page) => fs.readFile(page)));
  return new TextDecoder().decode(bytes);
}
