import * as vscode from "vscode";
import { folderUris, type InterpreterSetting, type InterpreterValue, interpreterValue } from "../settings";
import type { Candidate, Proposal, Source } from "./candidate";
import { reachesInto } from "./containment";
import { interpreterAt, interpretersOnPath } from "./executable";
import { expandPath, isBareName, UnusablePath } from "./expand";
import type { PythonExtensions } from "./pythonExtensions";

/**
 * The interpreters for resources, best first: setting, Python Environments extension, Python extension, PATH.
 *
 * In an untrusted workspace none that lies in a folder of it, or is reached through one, is among them;
 * `passOver` is told of those.
 */
export async function* proposals(
  setting: InterpreterSetting,
  resources: readonly (vscode.Uri | undefined)[],
  extensions: PythonExtensions,
  passOver: (path: string) => void,
): AsyncGenerator<Proposal> {
  const untrusted = vscode.workspace.isTrusted ? [] : folderUris().map(({ fsPath }) => fsPath);
  for await (const proposal of everyProposal(setting, resources, extensions)) {
    if ("path" in proposal && reachesInto(proposal.path, untrusted)) {
      passOver(proposal.path);
    } else {
      yield proposal;
    }
  }
}

async function* everyProposal(
  setting: InterpreterSetting,
  resources: readonly (vscode.Uri | undefined)[],
  extensions: PythonExtensions,
): AsyncGenerator<Proposal> {
  const configured = resources.flatMap((resource) => interpreterValue(setting, resource) ?? []).at(0);
  if (configured !== undefined) {
    yield* fromSetting(configured);
  }
  for (const { source, interpreter } of extensions.selected) {
    for (const resource of resources) {
      const selected = await interpreter(resource);
      if (selected !== undefined && !isBareName(selected)) {
        yield at(selected, source);
      }
    }
  }
  yield* onPath(interpretersOnPath(searchPath()), "path");
}

function fromSetting({ written, surroundings }: InterpreterValue): Proposal[] {
  try {
    const path = expandPath(written, surroundings);
    if (!isBareName(path)) {
      return [at(path, "setting")];
    }
    const found = onPath(interpretersOnPath(searchPath(), [path]), "setting");
    return found.length > 0 ? found : [{ source: "setting", reason: `${path} is not on the PATH.` }];
  } catch (error) {
    if (error instanceof UnusablePath) {
      return [{ source: "setting", reason: `${written}: ${error.message}.` }];
    }
    throw error;
  }
}

function at(path: string, source: Source): Proposal {
  const interpreter = interpreterAt(path);
  return interpreter === undefined
    ? { source, reason: `${path} is not there, or is no Python.` }
    : { source, path: interpreter };
}

function onPath(interpreters: readonly string[], source: Source): Candidate[] {
  return interpreters.map((path) => ({ source, path }));
}

function searchPath(): string {
  return process.env.PATH ?? "";
}
