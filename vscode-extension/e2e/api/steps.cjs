const path = require("node:path");
const vscode = require("vscode");

const POLL_MS = 50;
const WITHIN_MS = 60_000;

exports.extension = () => vscode.extensions.getExtension("warplint.warplint");

exports.uri = (file) => vscode.Uri.file(path.join(vscode.workspace.workspaceFolders[0].uri.fsPath, file));

/** What `probe` returns once that is neither empty nor false. */
const until = async (what, probe) => {
  const end = Date.now() + WITHIN_MS;
  for (;;) {
    const seen = await probe();
    if (seen) {
      return seen;
    }
    if (Date.now() > end) {
      throw new Error(`waited ${WITHIN_MS / 1000} s for ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
};
exports.until = until;

exports.show = async (file) => {
  const document = await vscode.workspace.openTextDocument(exports.uri(file));
  await vscode.window.showTextDocument(document);
  return document;
};

/** The diagnostics of a file, once there are `count`. */
exports.diagnostics = (uri, count) =>
  until(`${count} diagnostics`, () => {
    const found = vscode.languages.getDiagnostics(uri);
    return found.length === count && found;
  });

/** The only line, from 0, that has `code` in it. */
exports.lineOf = (document, code) => {
  const lines = document.getText().split("\n");
  const found = lines.flatMap((text, line) => (text.includes(code) ? [line] : []));
  if (found.length !== 1) {
    throw new Error(`${code} is on ${found.length} lines`);
  }
  return found[0];
};
