import type { DocumentUri } from "vscode-languageserver-protocol";

/** What one line cost in the newest capture. Lines count from 0. */
export interface LineCost {
  readonly line: number;
  /** For example "2.1 ms · 12% · 8 waits". */
  readonly text: string;
  /** The line was changed since it was measured. */
  readonly stale: boolean;
  /** Of the captured time, 0 to 1. */
  readonly share: number;
}

export type Band = "red" | "yellow" | "green";

export interface ScorePart {
  readonly label: string;
  readonly points: number;
  readonly line: number | null;
}

export interface Score {
  readonly value: number;
  readonly band: Band;
  readonly summary: string;
  readonly parts: readonly ScorePart[];
}

export interface CaptureSummary {
  readonly name: string;
  readonly device: string;
  readonly steps: number;
}

/** Everything the extension draws of one open document. */
export interface FileState {
  readonly uri: DocumentUri;
  readonly version: number;
  /** Null until the server has looked for captures: what is drawn may still hold. */
  readonly costs: readonly LineCost[] | null;
  /** Null for a file without GPU code. */
  readonly score: Score | null;
  readonly capture: CaptureSummary | null;
}

export interface RulePageParams {
  readonly code: string;
}

export interface RulePage {
  readonly markdown: string;
}

/** What the server may leave to this extension (it draws costs and scores, and shows rule pages), and may do. */
export function initializationOptions(trusted: boolean, workspaceDiagnostics: boolean) {
  return { warplint: { draws: true, rulePages: true, trusted, workspaceDiagnostics } };
}

export const STATE_NOTIFICATION = "warplint/state";
export const RULE_PAGE_REQUEST = "warplint/rulePage";
