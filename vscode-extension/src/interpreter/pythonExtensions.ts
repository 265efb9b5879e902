import * as vscode from "vscode";
import type { Source } from "./candidate";

/** The part that is used here of what `ms-python.vscode-python-envs` exports. */
interface EnvironmentsApi {
  getEnvironment(scope: vscode.Uri | undefined): Promise<
    | {
        readonly execInfo: {
          readonly run: { readonly executable: string; readonly args?: readonly string[] };
        };
      }
    | undefined
  >;
  readonly onDidChangeEnvironment: vscode.Event<unknown>;
}

/** The part that is used here of what `ms-python.python` exports. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource: vscode.Uri | undefined): { readonly path: string };
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** The rest of Warplint must not wait for ever for an extension that never finishes activating. */
const LIMIT_MS = 15_000;
/** One change of environment is announced several times. */
const SETTLED_MS = 300;

interface Provider<Api> {
  readonly source: Source;
  readonly id: string;
  selected(api: Api, resource: vscode.Uri | undefined): Promise<string | undefined>;
  changes(api: Api): vscode.Event<unknown>;
}

const ENVIRONMENTS: Provider<EnvironmentsApi> = {
  source: "environments",
  id: "ms-python.vscode-python-envs",
  async selected(api, resource) {
    const run = (await api.getEnvironment(resource))?.execInfo.run;
    // With arguments it is a program that starts Python, not one.
    return run === undefined || (run.args?.length ?? 0) > 0 ? undefined : run.executable;
  },
  changes: (api) => api.onDidChangeEnvironment,
};

const PYTHON: Provider<PythonApi> = {
  source: "python",
  id: "ms-python.python",
  // Not resolveEnvironment: that runs the interpreter, which an untrusted workspace may have brought along.
  selected: async (api, resource) => api.environments.getActiveEnvironmentPath(resource).path,
  changes: (api) => api.environments.onDidChangeActiveEnvironmentPath,
};

/** An extension that knows which environment the user has selected. */
export interface SelectedEnvironment {
  readonly source: Source;
  /** The path it names for a resource, if it is there and names one. */
  interpreter(resource: vscode.Uri | undefined): Promise<string | undefined>;
}

/** Both Python extensions behind one interface, each used if it is installed; neither is needed. */
export class PythonExtensions implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #watched = new Set<string>();
  /** Those that have been waited for in vain, and may answer yet. */
  readonly #silent = new Set<string>();
  readonly #subscriptions: vscode.Disposable[] = [this.#changed];
  #settling: NodeJS.Timeout | undefined;

  /** Another environment may have been selected, or an extension has come or gone. */
  readonly onDidChange = this.#changed.event;
  readonly selected: readonly SelectedEnvironment[] = [
    this.#selection(ENVIRONMENTS),
    this.#selection(PYTHON),
  ];

  constructor(private readonly log: vscode.LogOutputChannel) {
    this.#subscriptions.push(vscode.extensions.onDidChange(() => this.#announce()));
  }

  dispose(): void {
    clearTimeout(this.#settling);
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  #selection<Api>(provider: Provider<Api>): SelectedEnvironment {
    return {
      source: provider.source,
      interpreter: async (resource) => {
        if (this.#silent.has(provider.id)) {
          return undefined;
        }
        const asked = this.#ask(provider, resource);
        try {
          return await withinLimit(asked);
        } catch (error) {
          this.log.warn(`${provider.id} did not say which environment is selected: ${String(error)}`);
          this.#silent.add(provider.id);
          // Ask again if it answers after all. That it failed is logged.
          asked
            .then(() => this.#announce())
            .catch(() => undefined)
            .finally(() => this.#silent.delete(provider.id));
          return undefined;
        }
      },
    };
  }

  async #ask<Api>(provider: Provider<Api>, resource: vscode.Uri | undefined): Promise<string | undefined> {
    const extension = vscode.extensions.getExtension<Api | undefined>(provider.id);
    const api = await extension?.activate();
    if (api === undefined) {
      return undefined;
    }
    if (!this.#watched.has(provider.id)) {
      this.#watched.add(provider.id);
      this.#subscriptions.push(provider.changes(api)(() => this.#announce()));
    }
    return provider.selected(api, resource);
  }

  #announce(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#changed.fire(), SETTLED_MS);
  }
}

async function withinLimit<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${LIMIT_MS / 1000} s`)), LIMIT_MS);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}
