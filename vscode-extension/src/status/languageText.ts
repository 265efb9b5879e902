import { inWords } from "../server/resolution";
import type { ServerState } from "../server/state";

/** What the language status says, and which of the remedies it offers. */
export interface LanguageText {
  readonly text: string;
  readonly detail: string;
  readonly warns: boolean;
  readonly busy: boolean;
  readonly remedy: Remedy;
}

export type Remedy = "openSetting" | "showLogs" | "showVersions";

export function languageText(state: ServerState): LanguageText {
  switch (state.kind) {
    case "starting":
      return { text: "Warplint", detail: "starting", warns: false, busy: true, remedy: "showLogs" };
    case "running":
      return state.fallback === undefined
        ? { ...QUIET, text: "Warplint", detail: inWords(state.resolution), remedy: "showVersions" }
        : {
            ...WARNING,
            text: "Warplint: another Python is used",
            detail: state.fallback,
            remedy: "openSetting",
          };
    case "died":
      return {
        ...WARNING,
        text: "Warplint: the server stopped",
        detail: `${state.how}. Started again in ${state.retryInS} s.`,
        remedy: "showLogs",
      };
    case "failed":
      return {
        ...WARNING,
        text: "Warplint: the server could not be started",
        detail: state.problem,
        remedy: "showLogs",
      };
    case "noInterpreter":
      return { ...WARNING, text: "Warplint: no usable Python", detail: state.problem, remedy: "openSetting" };
  }
}

const QUIET = { warns: false, busy: false } as const;
const WARNING = { warns: true, busy: false } as const;
