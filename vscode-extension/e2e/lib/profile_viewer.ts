import { readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import path from "node:path";
import { E2E } from "./places.ts";

/** The extension of VS Code that opens `.cpuprofile` files, as code-server has it. */
const VIEWER = path.join(
  E2E,
  "node_modules/code-server/lib/vscode/extensions/ms-vscode.vscode-js-profile-table/out/extension.js",
);
const EDITOR = "jsProfileVisualizer.cpuprofile.table";

/** What the viewer shows above a line of a file; `line` counts from 1, times are milliseconds. */
export interface ProfileLens {
  readonly line: number;
  readonly selfMs: number;
  readonly totalMs: number;
}

interface Uri {
  readonly fsPath: string;
  readonly scheme: string;
}

interface Lens {
  readonly range: { readonly start: { readonly line: number } };
  readonly command: { readonly title: string };
}

interface Registered {
  editors: Map<string, { openCustomDocument(uri: Uri): Promise<unknown> }>;
  lenses?: { provideCodeLenses(document: { uri: Uri }): Lens[] };
}

const uriOf = (file: string): Uri => ({ fsPath: file, scheme: "file" });
const nothing = () => ({ dispose: () => undefined });

class Position {
  readonly line: number;
  readonly character: number;

  constructor(line: number, character: number) {
    this.line = line;
    this.character = character;
  }
}

class Range {
  readonly start: Position;
  readonly end: Position;

  constructor(start: Position, end: Position) {
    this.start = start;
    this.end = end;
  }
}

class CodeLens {
  readonly range: Range;
  readonly command: object;

  constructor(range: Range, command: object) {
    this.range = range;
    this.command = command;
  }
}

/** As much of VS Code's API as the viewer asks for while it opens a profile. */
function api(registered: Registered): object {
  return {
    EventEmitter: class {
      event = nothing;
      fire(): void {}
    },
    Position,
    Range,
    CodeLens,
    Uri: {
      file: uriOf,
      parse: (text: string) => uriOf(decodeURIComponent(new URL(text).pathname)),
      joinPath: (base: Uri, ...parts: string[]) => uriOf(path.join(base.fsPath, ...parts)),
    },
    commands: { registerCommand: nothing, executeCommand: async () => undefined },
    languages: {
      registerCodeLensProvider: (_: string, provider: NonNullable<Registered["lenses"]>) => {
        registered.lenses = provider;
        return nothing();
      },
    },
    window: {
      registerCustomEditorProvider: (
        type: string,
        provider: { openCustomDocument(uri: Uri): Promise<unknown> },
      ) => {
        registered.editors.set(type, provider);
        return nothing();
      },
    },
    workspace: {
      fs: { readFile: async (uri: Uri) => readFileSync(uri.fsPath) },
      registerTextDocumentContentProvider: nothing,
      workspaceFolders: undefined,
    },
  };
}

/** Open a profile as VS Code does; returns what it then shows in any file. */
export async function openProfile(profile: string): Promise<(file: string) => ProfileLens[]> {
  const registered: Registered = { editors: new Map() };
  const host = api(registered);
  const loader = Module as unknown as { _load(request: string, ...rest: unknown[]): unknown };
  const load = loader._load;
  loader._load = (request, ...rest) => (request === "vscode" ? host : load(request, ...rest));
  try {
    const viewer = createRequire(import.meta.url)(VIEWER) as { activate(context: object): void };
    viewer.activate({ subscriptions: [], extensionUri: uriOf(path.dirname(path.dirname(VIEWER))) });
  } finally {
    loader._load = load;
  }
  await registered.editors.get(EDITOR)?.openCustomDocument(uriOf(profile));
  return (file) => (registered.lenses?.provideCodeLenses({ uri: uriOf(file) }) ?? []).flatMap(lensOf);
}

function lensOf(lens: Lens): ProfileLens[] {
  const times = /^([\d,.]+)ms Self Time, ([\d,.]+)ms Total$/.exec(lens.command.title);
  const [selfMs, totalMs] = (times ?? []).slice(1).map((text) => Number(text.replaceAll(",", "")));
  // Beside each there is one that clears them.
  return selfMs === undefined || totalMs === undefined
    ? []
    : [{ line: lens.range.start.line + 1, selfMs, totalMs }];
}
