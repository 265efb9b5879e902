import * as vscode from "vscode";

/** Pages about rules, and the one about the score: read-only documents in Markdown. */
export const PAGE_SCHEME = "warplint-rule";
export const SCORE_PAGE = vscode.Uri.from({ scheme: PAGE_SCHEME, path: "/score.md" });
